// From numbers to colours, as lib/draw/tone.c has it.

const LOG_STEPS = 1e4;

function bend(scale, share) {
    if (scale === 'sqrt') return Math.sqrt(share);
    if (scale === 'log') return Math.log1p(LOG_STEPS * share) / Math.log1p(LOG_STEPS);
    return share;
}

function extentOf(data, from, to, extent = { low: Infinity, high: -Infinity }) {
    for (let i = from; i < to; i++) {
        const value = data[i];
        if (!Number.isFinite(value)) continue;
        if (value < extent.low) extent.low = value;
        if (value > extent.high) extent.high = value;
    }
    return extent;
}

// What is left when the first token is hidden.
function firstShown(tensor) {
    return state.hideFirst && tensor.rowCount > 1 ? 1 : 0;
}

function firstColumn(tensor) {
    return tensor.columns === 'key' && tensor.columnCount > 1 ? firstShown(tensor) : 0;
}

function extentOfMatrix(tensor, index, extent) {
    const data = tensor.matrix(index);
    const columns = tensor.columnCount;
    let found = extent || { low: Infinity, high: -Infinity };
    for (let row = firstShown(tensor); row < tensor.rowCount; row++)
        found = extentOf(data, row * columns + firstColumn(tensor), (row + 1) * columns, found);
    return found;
}

const extents = new Map();

function extentOfKind(tensor) {
    if (tensor.own) return extentOfMatrix(tensor, 0);
    const key = `${sentences.indexOf(tensor.sentence)} ${tensor.tensor} ${state.hideFirst}`;
    if (!extents.has(key)) {
        let extent;
        for (const other of tensor.sentence.of(tensor.tensor))
            for (let head = 0; head < other.shape[0]; head++)
                extent = extentOfMatrix(other, head, extent);
        extents.set(key, extent);
    }
    return extents.get(key);
}

class Tone {
    constructor(extent, twoSided) {
        this.extent = extent;
        this.twoSided = twoSided;
        this.low = twoSided ? 0 : Math.min(extent.low, 0);
        this.span = (twoSided ? Math.max(-extent.low, extent.high) : extent.high) - this.low;
    }

    share(value) {
        const size = this.twoSided ? Math.abs(value) : value - this.low;
        const part = this.span > 0 ? bend(state.scale, clamp(size / this.span, 0, 1)) : 0;
        return this.twoSided ? 0.5 + (value < 0 ? -part : part) / 2 : part;
    }

    // From 1 to 255; 0: there is nothing.
    level(value) {
        return Number.isFinite(value) ? 1 + Math.round(254 * this.share(value)) : 0;
    }
}

function isTwoSided(tensor) {
    const chosen = look.palettes[state.palette];
    if (tensor.own) return true;
    return chosen ? chosen.two_sided : extentOfKind(tensor).low < 0;
}

function toneOf(tensor, index) {
    if (state.range === 'bounds' && !tensor.own) return new Tone(look.bounds, isTwoSided(tensor));
    const extent = state.range === 'all' ? extentOfKind(tensor) : extentOfMatrix(tensor, index);
    return new Tone(extent, isTwoSided(tensor));
}

// A function from a row to its tone.
function tonesOf(tensor, index) {
    if (state.range !== 'row') {
        const tone = toneOf(tensor, index);
        return () => tone;
    }
    const data = tensor.matrix(index);
    const columns = tensor.columnCount;
    return (row) =>
        new Tone(
            extentOf(data, row * columns + firstColumn(tensor), (row + 1) * columns),
            isTwoSided(tensor),
        );
}

// --- colours ---------------------------------------------------------------------------------

function isDark() {
    return document.documentElement.dataset.theme === 'dark';
}

const ramps = new Map();

// [level] = [red, green, blue]
function rampOf(tensor) {
    const two = isTwoSided(tensor);
    const name =
        look.palettes[state.palette] && !tensor.own
            ? state.palette
            : look.defaults[two ? 1 : 0][isDark() ? 1 : 0];
    if (!ramps.has(name)) {
        const hex = look.palettes[name].colours;
        const ramp = [[0, 0, 0]];
        for (let at = 0; at < hex.length; at += 6)
            ramp.push([0, 2, 4].map((part) => parseInt(hex.slice(at + part, at + part + 2), 16)));
        ramps.set(name, ramp);
    }
    return ramps.get(name);
}

function css(colour, opacity = 1) {
    return `rgb(${colour[0]} ${colour[1]} ${colour[2]} / ${opacity})`;
}

// Black or white, as lib/write/palette.c chooses.
function inkOn(colour) {
    const light = colour.map((byte) => {
        const value = byte / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? '#fff' : '#000';
}

function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Heads that are shown together have a colour each: lib/write/palette.c's.
const FEW = [
    '#0072b2',
    '#d55e00',
    '#009e73',
    '#cc79a7',
    '#e69f00',
    '#56b4e9',
    '#7a4fbf',
    '#6b6b6b',
];

function headColour(index, count) {
    if (count <= FEW.length) return FEW[index];
    return `oklch(${isDark() ? 0.72 : 0.6} 0.14 ${(360 * index) / count})`;
}

// --- cells -----------------------------------------------------------------------------------

// Levels of as many cells as there is room for; of the numbers that share a cell, the loudest.
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
    const quiet = isTwoSided(tensor) ? 128 : 1;
    for (let row = first; row < tensor.rowCount; row++) {
        const tone = tones(row);
        const line = Math.floor((row - first) / rowStep) * columns;
        for (let column = left; column < tensor.columnCount; column++) {
            const value = data[row * tensor.columnCount + column];
            if (Number.isNaN(value)) continue;
            const at = line + Math.floor((column - left) / columnStep);
            const level = tone.level(value);
            if (!levels[at] || (level && Math.abs(level - quiet) > Math.abs(levels[at] - quiet)))
                levels[at] = level;
        }
    }
    return { rows, columns, rowStep, columnStep, levels, first, left };
}

// A pixel a cell.
function canvasOf(cells, ramp) {
    const canvas = element('canvas', '', '', { width: cells.columns, height: cells.rows });
    const image = new ImageData(cells.columns, cells.rows);
    for (let i = 0; i < cells.levels.length; i++) {
        const colour = ramp[cells.levels[i]];
        image.data.set(colour, 4 * i);
        image.data[4 * i + 3] = cells.levels[i] ? 255 : 0;
    }
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
}

// Cells onto a canvas, each a rectangle without gaps.
function paintCells(context, cells, ramp, box) {
    context.imageSmoothingEnabled = false;
    context.drawImage(canvasOf(cells, ramp), box.x, box.y, box.width, box.height);
}
