// Maps numbers to colours.

const STOPS = {
    light: {
        up: ['#ffffff', '#dceaf8', '#a9cdee', '#5f9fda', '#1f5fae', '#0a2558'],
        down: ['#ffffff', '#fde4cf', '#f9bd8b', '#e98a3c', '#b75000', '#6b2c00'],
    },
    dark: {
        up: ['#141920', '#17304c', '#1f4f80', '#3b82c4', '#84bff2', '#e3f2ff'],
        down: ['#141920', '#3d2610', '#6e3f12', '#b3661c', '#f0a04b', '#ffe3c2'],
    },
};
const LEVELS = 255; // a ramp has colours 1 to 255, 128 at the middle of signed numbers; 0 is masked
const SMALL_MEDIAN = 0.02;
const LOG_STEPS = 1e4;
const SIGNED_DARK = 0.85; // on a dark page, blue and orange both end in white, so stop before

function isDark() {
    return document.documentElement.dataset.theme === 'dark';
}

function rgbOf(hex) {
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function blend(stops, share) {
    const at = clamp(share, 0, 1) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    const [a, b] = [rgbOf(stops[from]), rgbOf(stops[from + 1])];
    return a.map((value, i) => Math.round(value + (at - from) * (b[i] - value)));
}

// A list of colours by level, kept for each theme.
const rampOf = (signed) => once(STOPS, `${isDark()} ${signed}`, () => makeRamp(signed));

function makeRamp(signed) {
    const { up, down } = STOPS[isDark() ? 'dark' : 'light'];
    const most = isDark() ? SIGNED_DARK : 1;
    const ramp = [[0, 0, 0]];
    for (let level = 1; level <= LEVELS; level++) {
        const share = (level - 1) / (LEVELS - 1);
        const given = look.colours && (level - 1) * 6;
        if (look.colours) ramp.push(rgbOf(`#${look.colours.slice(given, given + 6)}`));
        else if (!signed) ramp.push(blend(up, share));
        else ramp.push(blend(share < 0.5 ? down : up, most * Math.abs(2 * share - 1)));
    }
    const pixel = ([r, g, b], at) => at && (255 << 24) | (b << 16) | (g << 8) | r; // as in memory
    ramp.pixels = Uint32Array.from(ramp, pixel);
    return ramp;
}

function extentOf(data, from = 0, to = data.length, extent = { low: Infinity, high: -Infinity }) {
    for (let i = from; i < to; i++) {
        if (!Number.isFinite(data[i])) continue;
        if (data[i] < extent.low) extent.low = data[i];
        if (data[i] > extent.high) extent.high = data[i];
    }
    return extent;
}

function extentOfKind(sentence, kind) {
    const join = (extent, { numbers, tensor }) =>
        (tensor === kind ? extentOf(numbers, 0, numbers.length, extent) : extent);
    return once(sentence, `extent ${kind}`, () => sentence.tensors.reduce(join, undefined));
}

// The median of all weights that are stored.
const medianOf = (sentence, kind) => once(sentence, `median ${kind}`, () => {
    const all = sentence.tensors.filter(({ tensor }) => tensor === kind);
    const size = all.reduce((sum, { numbers }) => sum + numbers.length, 0);
    const every = Math.max(1, Math.floor(size / 20000)); // a sample is enough
    const values = [];
    for (const { numbers } of all)
        for (let i = 0; i < numbers.length; i += every)
            if (numbers[i] >= 0) values.push(numbers[i]);
    const sorted = Float32Array.from(values).sort();
    return sorted[sorted.length >> 1] ?? 0;
});

class Tone {
    constructor(low, high, scale) {
        this.signed = low < 0;
        this.low = this.signed ? -Math.max(-low, high) : low;
        this.high = this.signed ? -this.low : high;
        this.scale = scale;
    }

    bend(share) {
        if (this.scale === 'sqrt') return Math.sqrt(share);
        if (this.scale === 'log') return Math.log1p(LOG_STEPS * share) / Math.log1p(LOG_STEPS);
        return share;
    }

    // From 0 to 1; 0.5 is 0 for signed numbers.
    share(value) {
        const span = this.high - (this.signed ? 0 : this.low) || 1;
        const size = this.signed ? Math.abs(value) : value - this.low;
        const part = this.bend(clamp(size / span, 0, 1));
        return this.signed ? 0.5 + (value < 0 ? -part : part) / 2 : part;
    }

    level(value) {
        return Number.isFinite(value) ? 1 + Math.round((LEVELS - 1) * this.share(value)) : 0;
    }

    get ramp() {
        return rampOf(this.signed);
    }

    colour(value) {
        return this.ramp[this.level(value)];
    }
}

// Linear, unless most weights are small, or the reader or the command chose.
function scaleOf(tensor) {
    if (state.scale) return state.scale;
    if (look.scale !== 'linear') return look.scale;
    const many = tensor.isAttention && tensor.rowCount > 24 && !tensor.isDifference;
    const small = many && medianOf(tensor.sentence, tensor.tensor) < SMALL_MEDIAN;
    return small ? 'sqrt' : 'linear';
}

// A function from a row to its tone. Weights are 0 to 1 and changes of them -1 to 1: the same
// number has one colour everywhere; --range says otherwise.
function tonesOf(tensor, index) {
    const scale = scaleOf(tensor);
    const make = ({ low, high }) => {
        const tone = new Tone(Math.min(low, 0), high, scale);
        return () => tone;
    };
    const { columnCount } = tensor;
    if (tensor.isDifference) {
        const { low, high } = extentOf(tensor.matrix(0));
        return make({ low: tensor.isAttention ? -1 : Math.min(low, -high, -1e-30), high: 0 });
    }
    if (look.bounds) return make(look.bounds);
    if (look.range === 'head' || tensor.isMixer) return make(extentOf(tensor.matrix(index)));
    if (look.range === 'row')
        return (row) =>
            make(extentOf(tensor.matrix(index), row * columnCount, (row + 1) * columnCount))();
    const extent = extentOfKind(tensor.sentence, tensor.tensor);
    return make(tensor.isAttention && extent.low >= 0 ? { low: 0, high: 1 } : extent);
}

function css(colour, opacity = 1) {
    return `rgb(${colour[0]} ${colour[1]} ${colour[2]} / ${opacity})`;
}

// Black or white, whichever contrasts more.
function inkOn(colour) {
    const light = colour.map((byte) => {
        const value = byte / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? '#fff' : '#000';
}

// A colour, and text on it in black or white; null: the colours of page.css.
function fillWith(one, colour) {
    one.style.background = colour ? css(colour) : '';
    one.style.color = colour ? inkOn(colour) : '';
}

// A colour of page.css, kept because reading it recomputes all styles.
const variable = (name) => once(document, `${isDark()} ${name}`, () =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim());

// The first row and key that remain when --hide-first drops the first token.
function firstShown(tensor) {
    return look.hide_first && tensor.rowCount > 1 ? 1 : 0;
}

function firstColumn(tensor) {
    return tensor.columns === 'key' && tensor.columnCount > 1 ? firstShown(tensor) : 0;
}

// Levels of the cells that fit; the strongest number stands for those that share a cell.
function levelsOf(tensor, index, rowRoom, columnRoom) {
    const first = firstShown(tensor);
    const left = firstColumn(tensor);
    const rowStep = Math.ceil((tensor.rowCount - first) / rowRoom);
    const columnStep = Math.ceil((tensor.columnCount - left) / columnRoom);
    const rows = Math.ceil((tensor.rowCount - first) / rowStep);
    const columns = Math.ceil((tensor.columnCount - left) / columnStep);
    const levels = new Uint8Array(rows * columns);
    const data = tensor.matrix(index);
    const tones = tonesOf(tensor, index);
    const quiet = tones(first).signed ? 128 : 1;
    for (let row = first; row < tensor.rowCount; row++) {
        const tone = tones(row);
        const line = Math.floor((row - first) / rowStep) * columns;
        for (let column = left; column < tensor.columnCount; column++) {
            const level = tone.level(data[row * tensor.columnCount + column]);
            const at = line + Math.floor((column - left) / columnStep);
            if (!levels[at] || (level && Math.abs(level - quiet) > Math.abs(levels[at] - quiet)))
                levels[at] = level;
        }
    }
    return { rows, columns, rowStep, columnStep, levels, first, left, ramp: tones(first).ramp };
}

// A canvas with a pixel for each cell, transparent where it is masked.
function canvasOfCells(cells, canvas = element('canvas')) {
    Object.assign(canvas, { width: cells.columns, height: cells.rows });
    const image = new ImageData(cells.columns, cells.rows);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < pixels.length; i++) pixels[i] = cells.ramp.pixels[cells.levels[i]];
    canvas.getContext('2d', { willReadFrequently: true }).putImageData(image, 0, 0); // in memory
    return canvas;
}
