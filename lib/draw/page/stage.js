// Pictures of a journey on a canvas. Each is a function of the scene and of how much of it has
// passed: it can be played, stepped and scrubbed.

const CELLS_OF_HEAD = 32; // longer vectors: a cell shows the largest of several numbers
const CELLS_OF_STREAM = 96;

const ease = (p) => (p <= 0 ? 0 : p >= 1 ? 1 : p * p * (3 - 2 * p));
const part = (p, from, to) => ease((p - from) / (to - from));
const mix = (a, b, p) => a + (b - a) * p;
const largest = (list) => Math.max(...list.map(Math.abs).filter(Number.isFinite), 1e-6);

// Numbers in at most so many cells, each the largest of those that share it.
function cellsOf(values, most) {
    const each = Math.ceil(values.length / most);
    if (each === 1) return values;
    return Float32Array.from({ length: Math.ceil(values.length / each) }, (_, cell) =>
        values.subarray(cell * each, (cell + 1) * each).reduce(
            (best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0));
}

// The size of a number that gets the strongest colour: few numbers are larger.
function strongest(lists) {
    const sizes = lists.flatMap((list) => [...(list || [])].map(Math.abs)).sort((a, b) => a - b);
    return sizes[Math.floor(0.97 * (sizes.length - 1))] || 1e-6;
}

class Pen {
    constructor(context, size, small) {
        const fine = small && !isProjecting(); // a phone: small letters, the arrows below
        Object.assign(this, { context, small, fine, size: fine ? 14 : size });
        this.least = fine ? 13 : Math.max(18, size * 0.85);
    }

    // Draw in a colour, of the page or of CSS, with an opacity; nothing if it is 0.
    ink(colour, alpha, act) {
        if (!(alpha > 0.004)) return;
        const { context } = this;
        context.globalAlpha = Math.min(alpha, 1);
        context.fillStyle = colour.startsWith('--') ? variable(colour) : colour;
        context.strokeStyle = context.fillStyle;
        act(context);
        context.globalAlpha = 1;
    }

    text(words, x, y, options = {}) {
        const { size = this.size, bold, align = 'left', colour = '--text', alpha = 1,
            room } = options;
        this.ink(colour, alpha, (context) => {
            context.font = font(size, bold ? '700' : '');
            context.textAlign = align;
            context.textBaseline = 'middle';
            context.fillText(room ? shortened(words, room, size) : words, x, y);
        });
    }

    // A small text beside the numbers.
    note(words, x, y, alpha = 1, options = {}) {
        this.text(words, x, y, { size: this.least, colour: '--quiet', alpha, ...options });
    }

    // A vector as coloured cells; `most`: the size with the strongest colour; `by`: a factor.
    strip(values, x, y, width, height, options = {}) {
        const { most = 1, alpha = 1, upTo = 1, frame, by = 1, cells = CELLS_OF_HEAD } = options;
        const drawn = cellsOf(values, cells);
        const tone = new Tone(-most, most, 'linear');
        const each = width / drawn.length;
        this.ink(frame || '--edge', alpha, (context) => {
            for (let i = 0; i < Math.ceil(drawn.length * upTo); i++) {
                context.fillStyle = css(tone.colour(drawn[i] * by));
                context.fillRect(x + i * each, y, Math.min(each + 0.6, x + width - x - i * each),
                    height);
            }
            context.lineWidth = frame ? 2 : 1;
            context.strokeRect(x + 0.5, y + 0.5, width * upTo, height - 1);
        });
    }

    box(x, y, width, height, colour, alpha = 1) {
        this.ink(colour, alpha, (context) => context.fillRect(x, y, width, height));
    }

    // A share as a bar on its track.
    meter(x, y, width, height, share, alpha) {
        this.box(x, y, width, height, '--track', alpha);
        this.box(x, y, Math.max(1, width * share), height, '--bar', alpha);
    }

    frame(x, y, width, height, colour, thick) {
        this.ink(colour, 1, (context) => {
            context.lineWidth = thick;
            context.strokeRect(x, y, width, height);
        });
    }

    line(points, colour, width = 1, alpha = 1, dash = []) {
        this.ink(colour, alpha, (context) => {
            context.lineWidth = width;
            context.setLineDash(dash);
            context.beginPath();
            for (const [x, y] of points) context.lineTo(x, y);
            context.stroke();
            context.setLineDash([]);
        });
    }

    arrow([x1, y1], [x2, y2], colour, width, alpha = 1) {
        const long = Math.hypot(x2 - x1, y2 - y1);
        if (long < 1) return;
        const head = Math.min(long, 4 + 2.4 * width);
        const [ux, uy] = [((x2 - x1) / long) * head, ((y2 - y1) / long) * head];
        this.line([[x1, y1], [x2 - ux * 0.8, y2 - uy * 0.8]], colour, width, alpha);
        this.ink(colour, alpha, (context) => {
            context.beginPath();
            context.moveTo(x2, y2);
            context.lineTo(x2 - ux - uy * 0.45, y2 - uy + ux * 0.45);
            context.lineTo(x2 - ux + uy * 0.45, y2 - uy - ux * 0.45);
            context.fill();
        });
    }
}

// Scenes of a head, with a row for each key.
class HeadPicture {
    constructor(pen, journey, moment, { wide, high }) {
        Object.assign(this, { pen, journey, moment, wide, high });
        const { size, small } = pen;
        const { keys, order, own, q, row } = journey;
        // No arrows on slides where values have more numbers than a drawing, or one.
        const isDrawn = !isProjecting() || /^[23]$/.test(journey.context?.length);
        const spaceHigh = small && isDrawn ? Math.round(high * 0.38) : 0; // below, on a phone
        const spaceWide = !isDrawn ? 0 : small ? wide : Math.max(300, wide * 0.32);
        this.space = isDrawn && { x: wide - spaceWide, y: small ? high - spaceHigh : 0,
            width: spaceWide, height: small ? spaceHigh : high };
        this.band = size * (small ? 2.2 : 2.6);
        const room = high - spaceHigh - 2 * this.band - size;
        // the keys that fit: the query, the next masked one, and those with the largest weights
        const most = Math.max(4, Math.floor(room / (size * 1.22)));
        const first = [...(own ? [row, row + 1] : []), ...order.map(({ j }) => j)];
        const fit = new Set(first.slice(0, most - 1));
        this.keys = keys.length > most ? keys.filter(({ j }) => fit.has(j)) : keys;
        this.each = Math.min(room / this.keys.length, size * 2.1);
        this.inner = Math.max(8, this.each - 6);
        this.top = this.band + size * 1.1;
        this.table = small ? wide : wide - spaceWide - 24;
        const longest = Math.max(...this.keys.map(({ label }) => textWidth(label, size))) + 10;
        const names = clamp(longest / this.table, 0.13, small ? 0.2 : 0.21);
        const places = small
            ? { k: [0.21, 0.53], bar: [0.21, 0.53], cell: [0.55, 0.69], v: [0.71, 1] }
            : { k: [names + 0.01, 0.36], bar: [0.38, 0.66], cell: [0.675, 0.765], v: [0.78, 1] };
        this.columns = {};
        for (const [name, [from, to]] of Object.entries({ name: [0, names], ...places }))
            this.columns[name] = { x: this.table * from, width: this.table * (to - from) };
        const x = this.columns.name.width + 8;
        this.columns.x = { x, width: small ? this.table - x : this.table * 0.5 };
        this.sumY = this.y(this.keys.length) + size * 0.5;
        this.flying = order.filter((one) => Math.abs(one.by) > 0.004);
        this.most = { x: strongest([journey.x]) };
        if (!q) return;
        this.most.k = strongest([q, ...this.keys.map(({ k }) => k)]);
        this.most.v = strongest(this.keys.map(({ v }) => v));
        const weighted = this.keys.flatMap(({ by, v }) => [...(v || [])].map((one) => by * one));
        this.most.sum = journey.isInput ? this.most.v // embeddings, on both sides of the weights
            : largest([...(journey.context || []), ...weighted]);
    }

    // How much of a part of a scene has passed, from 0 to 1.
    at(scene, from = 0, to = 1) {
        const { scenes, scene: now, p } = this.moment;
        const [here, there] = [scenes.indexOf(now), scenes.indexOf(scene)];
        return here > there ? Number(there >= 0) : here < there ? 0 : part(p, from, to);
    }

    // The same, one row after another.
    rowAt(scene, row, from, spread, long) {
        const start = from + (spread * row) / this.keys.length;
        return this.at(scene, start, start + long);
    }

    // The end of the softmax, or of the mask if that comes later.
    weighs(from, to) {
        return this.at(this.journey.ways.renormalise ? 'mask' : 'softmax', from, to);
    }

    y(row) {
        return this.top + row * this.each;
    }

    draw() {
        const { journey, keys, pen } = this;
        const { bar, name } = this.columns;
        const { isMixer } = journey.tensor;
        const { linear, renormalise } = journey.ways;
        const zero = this.at('softmax') || renormalise || linear ? '0' : '−∞';
        this.drawHeadings();
        this.drawQuery();
        this.findBars();
        keys.forEach((one, i) => {
            const mid = this.y(i) + this.each / 2;
            const taken = this.rowAt('map', i, 0.05, 0.6, 0.25);
            const masked = isMixer ? Number(taken > 0) : this.rowAt('mask', i, 0.05, 0.3, 0.45);
            const hidden = one.hidden ? masked : 0;
            const isQuery = isMixer ? one.j === journey.row : one === journey.own;
            const alpha = (this.moment.scene === 'vector' ? 0.55 : 1) * (1 - 0.55 * hidden);
            pen.text(one.label, 0, mid, { bold: isQuery, room: name.width - 4,
                colour: isQuery ? '--accent' : '--text', alpha: isMixer ? 1 : alpha });
            if (!isMixer) this.drawKey(one, i, mid, hidden);
            else if (!one.hidden)
                this.drawSigned(taken * one.weight * this.unit,
                    brief(Number(one.weight.toPrecision(3))), mid, taken, one.weight < 0);
            if (hidden > 0) hatch(pen.context, { x: bar.x, y: mid - this.inner / 2,
                width: bar.width * hidden, height: this.inner });
            if (isMixer) return;
            pen.note(zero, bar.x + 10, mid, hidden);
            this.drawWeight(one, i, mid);
            this.frameMarks(one, mid);
            if (journey.q && !one.hidden) this.drawValue(one, i, mid);
        });
        this.drawRest();
        if (!journey.q) return;
        this.drawMoving();
        if (this.space) drawArrows(pen, this, this.space);
    }

    drawHeadings() {
        const { columns, journey, pen, moment } = this;
        const { q, tensor, ways, x } = journey;
        const { scene, p } = moment;
        const isWeighed = scene === 'sum' || (scene === 'values' && p > 0.45);
        const weighed = ways.differs ? 'difference × v'
            : journey.isInput ? '× embedding' : '× v'; // beside the weight
        const names = this.at('project') || this.at('map') || Number(!x);
        const headings = tensor.isMixer ? [['taken from it', 'bar', this.at('map')]] : [
            ['k', 'k', q && !pen.small && this.at('project')],
            [q && this.barName(), 'bar', q && this.at('dot', 0, 0.1)],
            [isWeighed ? weighed : 'v', 'v', q && this.at('values', 0, 0.3)],
        ];
        for (const [words, column, alpha] of [['key', 'name', names], ...headings])
            if (alpha) pen.note(say(words), columns[column].x, this.top - pen.size * 0.55, alpha);
        const { x: left, width } = columns.cell; // narrower than its name, which ends with it
        if (!tensor.isMixer) pen.note(say('weight'), left + width, this.top - pen.size * 0.55,
            this.weighs(0.6, 0.8), { align: 'right' });
    }

    barName() {
        const { ways } = this.journey;
        const raw = ways.linear ? 'φ(q) · φ(k)' : 'q · k';
        if (!this.isScaled()) return raw;
        if (this.at('softmax', 0, 0.24) < 0.5) return `${raw} ${scaleWord(this.journey)}`;
        if (this.isDivided()) return '÷ sum';
        return ways.linear ? raw : 'exp(score − highest)';
    }

    // Numbers change at once, with the name of their column, while their bars move.
    isScaled() {
        return this.at('scale', 0.05, 0.5) > 0.5;
    }

    isDivided() {
        return this.at('softmax', 0.4, 0.62) > 0.5;
    }

    // The query: its vector, then q.
    drawQuery() {
        const { band, columns, journey, pen } = this;
        const { name } = columns;
        const [high, middle] = [band - 12, 4 + (band - 12) / 2];
        const wide = Math.min(name.width, 24 + textWidth(journey.query, pen.size));
        pen.box(0, 4, wide, high, '--accent');
        pen.text(journey.query, wide / 2, middle,
            { bold: true, align: 'center', colour: '--on-accent', room: wide - 4 });
        const { x, width } = columns.x;
        if (journey.x && this.at('project', 0, 0.5) < 1) {
            const alpha = 1 - this.at('project', 0.3, 0.5);
            this.stripIn('x', journey.x, 8, { alpha, height: band - 20,
                upTo: this.at('vector', 0, 0.7), cells: CELLS_OF_STREAM });
            pen.note(say('# numbers', journey.x.length), x + width + 10, middle,
                pen.small ? 0 : alpha * this.at('vector', 0.5, 0.8));
        }
        const grown = this.at('project', 0.05, 0.5);
        if (!journey.q || grown <= 0) return;
        this.stripIn('x', journey.q, 8, { to: 'k', moved: grown, height: band - 20,
            most: this.most.k, frame: '--mark', alpha: grown });
        const right = mix(x + width, columns.k.x + columns.k.width, grown);
        pen.text('q', right + 8, middle, { bold: true, colour: '--mark-text', alpha: grown });
        this.drawSiblings(right + 36, middle, grown * this.at('project', 0.5, 0.9));
    }

    // Other queries that meet the same keys.
    drawSiblings(x, middle, alpha) {
        const { columns, journey, pen, table } = this;
        const { queries } = journey;
        if (!queries.length || pen.small) return;
        const other = queries.find((one) => one.q);
        if (other) pen.strip(other.q, x, middle - 10, columns.k.width, 20,
            { most: this.most.k, alpha: 0.6 * alpha });
        const left = other ? x + columns.k.width + 10 : x;
        const words = other && queries.length === 1 ? `q · ${other.name}`
            : say('# heads share k and v', queries.length + 1);
        pen.note(words, left, middle, alpha, { room: table - left });
    }

    // The zero and the unit of the bars; the part of the keys that the query has passed.
    findBars() {
        const { columns: { bar }, journey, keys, moment } = this;
        if (journey.tensor.isMixer) return Object.assign(this, { zero: bar.x + bar.width / 2,
            unit: bar.width / 2.4 / largest(journey.keys.map((one) => one.weight)) });
        const drawn = keys.map((one) => one.raw).filter(Number.isFinite);
        const [low, high] = [Math.min(0, ...drawn), Math.max(0, ...drawn)];
        this.unit = bar.width / (high - low || 1);
        this.zero = bar.x - low * this.unit;
        this.sweep = moment.scene === 'dot' ? part(moment.p, 0.03, 0.97) * (keys.length + 0.4)
            : Infinity;
        this.zoom = journey.ways.linear ? 1 // of the axis, after the scale
            : largest(drawn) / largest(keys.map((one) => one.scaled));
        return this;
    }

    // A vector in a column, or moving from one column to another.
    stripIn(column, values, y, { to = column, moved = 0, height = this.inner, ...options }) {
        const [from, end] = [this.columns[column], this.columns[to]];
        this.pen.strip(values, mix(from.x, end.x, moved), y, mix(from.width, end.width, moved),
            height, { most: this.most[column], ...options });
    }

    // A bar from a place of its column, to the right or, if the length is below 0, to the left.
    drawBar(from, length, mid, alpha, colour = '--bar') {
        const { inner, pen } = this;
        pen.box(Math.min(from, from + length), mid - inner * 0.36, Math.abs(length), inner * 0.72,
            colour, 0.85 * alpha);
    }

    // The vector of a key, k, and its score.
    drawKey(one, i, mid, hidden) {
        const { inner, journey, pen } = this;
        const stagger = this.rowAt('project', i, 0.3, 0.5, 0.2);
        const arrives = this.rowAt('vector', i, 0.35, 0.3, 0.25) * (1 - stagger);
        if (journey.xs[one.j] && arrives > 0)
            this.stripIn('x', journey.xs[one.j], mid - inner / 2, { to: pen.small ? 'x' : 'k',
                moved: stagger, alpha: 0.75 * arrives, cells: CELLS_OF_STREAM });
        if (journey.q && !pen.small)
            this.stripIn('k', one.k, mid - inner / 2, { alpha:
                stagger * (1 - 0.75 * hidden) * (1 - 0.65 * this.at('values', 0, 0.2)) });
        if (!journey.q || !this.at('dot', 0, 0.05)) return;
        const passed = this.sweep - i; // since the query came to this key
        if (passed > 0 && passed < 1.15 && !pen.small) {
            const [query, key] = [journey.q, one.k].map((list) =>
                (journey.ways.linear ? list.map(phi) : list));
            const products = key.map((value, d) => value * query[d]);
            this.stripIn('k', products, mid - inner / 2, { most: largest(products),
                alpha: part(passed, 0.05, 0.4), frame: '--mark' });
        }
        const met = this.at('dot') === 1 ? 1 : part(passed, 0.1, 1);
        if (met <= 0 || !Number.isFinite(one.raw)) return;
        const softens = this.at('softmax', 0.02, 0.3);
        if (softens > 0 && (one.power > 0 || one.share > 0))
            this.drawShare(one, mid, hidden, softens);
        else if (!one.hidden || !this.at('softmax')) this.drawScore(one, mid, hidden, met);
    }

    // The score as a bar, as the query passes; then scaled.
    drawScore({ raw, scaled }, mid, hidden, met) {
        const end = Number.isFinite(scaled) ? scaled : raw;
        const long = mix(raw, end, this.at('scale', 0.05, 0.5)) *
            mix(1, this.zoom, this.at('scale', 0.6, 1)) * this.unit;
        const score = this.isScaled() ? end : raw;
        const words = minus(score.toFixed(Math.abs(score) >= 100 ? 1 : 2));
        this.drawSigned(met * long, words, mid, met, raw < 0, hidden);
    }

    // A number as a bar from the zero of the column, with its text at the end or, if long, in it.
    drawSigned(length, words, mid, alpha, isBelow, hidden = 0) {
        const { columns: { bar }, pen, zero } = this;
        this.drawBar(zero, length, mid, 1 - hidden, isBelow ? '--below' : '--bar');
        const inside = Math.abs(length) > bar.width * 0.6;
        const edge = inside ? length - Math.sign(length) * 8 : Math.max(length, 0) + 8;
        pen.note(words, zero + edge, mid, alpha * (1 - 2 * hidden),
            { align: inside && length > 0 ? 'right' : 'left',
                colour: inside ? '--on-accent' : '--text' });
    }

    // The exponential of the score, then the weight.
    drawShare(one, mid, hidden, softens) {
        const { columns: { bar }, journey, pen, unit, zero, zoom } = this;
        const { linear, renormalise } = journey.ways;
        const divided = this.at('softmax', 0.4, 0.62);
        const remade = renormalise ? this.at('mask', 0.6, 0.8) : 0;
        const most = linear ? Math.max(...journey.keys.map(({ power }) => power)) : 1;
        const value = mix(mix(one.power / most, one.share, divided), one.weight, remade);
        const before = (zero - bar.x + one.scaled * zoom * unit) / (bar.width * 0.72);
        const width = mix(Math.max(before, 0), value, softens) * bar.width * 0.72;
        const fades = 1 - 0.6 * this.weighs(0.75, 1) - 0.1 * this.at('values', 0, 0.1);
        this.drawBar(bar.x, Math.max(width, 1), mid, fades * (1 - hidden));
        const shown = remade > 0.5 ? one.weight : this.isDivided() ? one.share : one.power;
        const words = Math.abs(shown) < 0.0005 ? '0.000' : shown.toFixed(3);
        const leaves = pen.small ? 1 - this.weighs(0.55, 0.7) : 1;
        pen.note(words, bar.x + width + 8, mid, softens * fades * leaves * (1 - 2 * hidden),
            { colour: '--text' });
    }

    // The weight as a colour.
    drawWeight(one, i, mid) {
        const { columns: { cell: { x, width } }, inner, journey, pen } = this;
        const start = 0.6 + (0.25 * i) / this.keys.length;
        const filled = this.weighs(start, start + 0.15);
        if (filled <= 0 || one.hidden) return;
        const colour = new Tone(Math.min(0, one.by), 1, 'linear').colour(one.by);
        pen.box(x, mid - inner / 2, width * filled, inner, css(colour));
        pen.frame(x + 0.5, mid - inner / 2 + 0.5, width, inner - 1, '--edge', 1);
        const words = Math.abs(one.by) < 0.005 ? '' : minus(one.by.toFixed(2));
        pen.note(words, x + width / 2, mid, filled,
            { bold: one === journey.order[0], align: 'center', colour: inkOn(colour) });
    }

    // Frames of the cells that a step of the lesson discusses.
    frameMarks({ j }, mid) {
        const { columns, inner, pen } = this;
        for (const { tensor: { tensor }, column } of motion.step?.marks || []) {
            const isBar = /scores|masked$/.test(tensor);
            if (column !== j || !(isBar || /weights|softmax|mask$/.test(tensor))) continue;
            if (!(isBar ? this.at('dot') : this.weighs(0.6, 0.8))) continue;
            const { x, width } = isBar ? columns.bar : columns.cell;
            pen.frame(x - 2, mid - inner / 2 - 2, width + 4, inner + 4, '--mark', 2);
        }
    }

    // The value, then the value by its weight, which falls to the sum.
    drawValue(one, i, mid) {
        const { flying, inner } = this;
        const shows = this.rowAt('values', i, 0.02, 0.2, 0.18);
        if (shows <= 0) return;
        const moved = this.fallen(flying.indexOf(one));
        const weighed = this.at('values', 0.45, 0.95);
        const [by, most] = [mix(1, one.by, weighed), mix(this.most.v, this.most.sum, weighed)];
        this.stripIn('v', one.v, mid - inner / 2, { by, most, alpha: shows });
        if (moved > 0 && moved < 1)
            this.stripIn('v', one.v, mix(mid - inner / 2, this.sumY, moved),
                { by, most, frame: '--mark' });
    }

    // How far the weighted value of a rank has fallen; those that are too small to see fall last.
    fallen(rank) {
        const start = 0.04 + (0.5 * rank) / this.flying.length;
        return rank < 0 ? this.at('sum', 0.85, 0.95) : this.at('sum', start, start + 0.34);
    }

    drawRest() {
        const { journey, keys, pen } = this;
        const rest = journey.keys.filter((one) => !keys.includes(one));
        const weight = rest.reduce((all, one) => all + one.weight, 0);
        const known = this.weighs(0.6, 0.8) && !journey.tensor.isMixer;
        const others = say(rest.length > 1 ? '# other keys' : '# other key', rest.length);
        const words = [rest.length && `${others}${known ? ` · ${percent(weight)}` : ''}`,
            journey.sink && known && `${say('sink')} ${percent(journey.sink)}`];
        pen.note(words.filter(Boolean).join(' · '), 0, this.y(keys.length) + pen.size * 0.55);
    }

    // What moves over the rows: the query, over the keys; and sums: of the exponentials, and of the
    // weighted values that have fallen.
    drawMoving() {
        const { columns, flying, inner, journey, keys, moment, pen, sumY, sweep } = this;
        const { bar, v: { x, width } } = columns;
        if (moment.scene === 'dot' && !pen.small && sweep < keys.length) {
            const y = this.y(Math.min(sweep, keys.length - 0.4)) - 2;
            const top = mix(8, y, part(moment.p, 0, 0.05)) - inner * 0.32;
            this.stripIn('k', journey.q, top, { height: inner * 0.45, frame: '--mark' });
        }
        if (moment.scene === 'softmax')
            pen.text(`${say('sum')} ${journey.sum.toFixed(3)}`, bar.x, sumY + pen.size * 1.35,
                { bold: true,
                    alpha: this.at('softmax', 0.3, 0.4) * (1 - this.at('softmax', 0.6, 0.7)) });
        if (moment.scene !== 'sum') return;
        const partial = new Float32Array(journey.context.length);
        journey.order.forEach(({ v, by }, rank) => {
            const share = by * part(this.fallen(rank < flying.length ? rank : -1), 0.8, 1);
            for (let d = 0; d < partial.length; d++) partial[d] += share * v[d];
        });
        const alpha = this.at('sum', 0, 0.1);
        pen.line([[x, sumY - 5], [x + width, sumY - 5]], '--text', 1.5, alpha);
        this.stripIn('v', partial, sumY, { most: this.most.sum, frame: '--mark', alpha });
        pen.text(say('context'), x - 12, sumY + inner / 2,
            { bold: true, align: 'right', colour: '--mark-text', alpha });
    }
}

// Scenes of the stream, and of the prediction.
class StreamPicture extends HeadPicture {
    constructor(pen, journey, moment, room) {
        super(pen, journey, moment, room);
        const { wide, high } = room;
        const { contexts, steps } = journey;
        const reads = !pen.small && steps.some(({ lens }) => lens && !motion.step?.scenes);
        const longest = textWidth(say('stream before'), pen.size) + 16;
        this.name = pen.small ? 122 : Math.max(wide * 0.19, longest);
        this.reads = reads ? wide * 0.3 : 0;
        this.width = wide - this.name - this.reads - (reads ? 16 : 2);
        const rows = steps.length + Number(contexts.length > 0);
        this.each = Math.min(high / (rows + 0.3), pen.size * 4.2);
        this.inner = Math.min(this.each * 0.5, pen.size * 1.6);
        this.most.stream = strongest(
            steps.filter((one) => one.isStream).map(({ values }) => values));
    }

    y(row) {
        return 8 + row * this.each;
    }

    draw() {
        if (this.moment.scene === 'predict') return this.drawPrediction();
        const { journey } = this;
        let row = 0;
        let parts = []; // of the next sum: rows and their steps
        for (const step of journey.steps) {
            const { isStream, lens, name, part: of, scene } = step;
            const isFollowed = !isStream && of === journey.part;
            const isMarked = !isStream && of !== 'MLP';
            if (isFollowed) row = this.drawHeads(row);
            const shows = !of ? 1 : isFollowed ? this.at('heads', 0.5, 0.95)
                : isStream ? this.at(scene, 0.35, 0.85) : this.at(scene, 0, 0.35);
            const isFirst = !of && motion.step?.scenes; // before a lesson says what a stream is
            this.label(isFirst ? say('vector of #', quoted(journey.query)) : name, row, shows,
                { bold: isStream && of, colour: isMarked ? '--mark-text' : '--text' });
            const y = this.y(row);
            for (const [from, one] of isStream && shows > 0 && shows < 1 ? parts : [])
                this.stripOf(one, mix(this.y(from), y, shows), { alpha: 0.6 });
            this.stripOf(step, isFollowed ? mix(this.y(row - 1), y, shows) : y,
                { alpha: isStream ? part(shows, 0.7, 1) : shows, frame: isMarked && '--mark' });
            if (lens && (this.reads || (this.pen.small && !motion.step?.scenes)))
                this.drawLens(lens, row, part(shows, 0.8, 1));
            parts = isStream ? [[row, step]] : [...parts, [row, step]];
            row += 1;
        }
        return null;
    }

    label(words, row, alpha, options = {}) {
        const { inner, name, pen } = this;
        pen.text(words, name - 12, this.y(row) + inner / 2, { align: 'right', alpha,
            size: pen.fine ? 12.5 : pen.size, room: name - 12, ...options });
    }

    stripOf({ values }, y, options) {
        this.pen.strip(values, this.name, y, this.width, this.inner,
            { most: this.most.stream, cells: CELLS_OF_STREAM, ...options });
    }

    // What the stream would predict there.
    drawLens(lens, row, alpha) {
        const { inner, journey, name, pen, reads, width } = this;
        const [best] = likeliestOf(journey, lens);
        const y = this.y(row) + inner / 2;
        const words = `→ ${shown(best.name)}`;
        if (pen.small) return pen.text(`${words} ${percent(best.share)}`, name, y + inner / 2 + 10,
            { alpha, bold: true, size: pen.fine ? 12 : 18 });
        const x = name + width + 20;
        pen.text(words, x, y, { alpha, bold: true, room: reads * 0.4 });
        const long = this.wide - textWidth('100.0 %', pen.least) - 10 - x - reads * 0.42;
        if (long > 8) pen.meter(x + reads * 0.42, y - 8, long, 16, best.share, alpha);
        pen.note(percent(best.share), this.wide, y, alpha, { align: 'right', colour: '--text' });
        if (!row) pen.note(say('read as the next token'), x, y + inner / 2 + pen.size * 0.7, 1,
            { room: reads });
        return null;
    }

    // The contexts of all heads; returns the row after them.
    drawHeads(row) {
        const { inner, journey, name, pen, width } = this;
        const { contexts, index, tensor } = journey;
        if (!contexts.length) return row;
        const grown = this.at('heads', 0, 0.4);
        const fade = 1 - 0.7 * this.at('stream', 0, 0.3);
        const each = width / contexts.length;
        const most = strongest(contexts);
        this.label(say('heads'), row, grown * fade);
        contexts.forEach((context, head) => {
            const mine = head === index;
            const x = name + head * each;
            const y = this.y(row) + (1 - grown) * (mine ? 0 : 40);
            pen.strip(context, x + 2, y, each - 4, inner, { most, alpha: (mine ? 1 : grown) * fade,
                frame: mine ? '--mark' : null,
                cells: clamp(Math.floor(each / 4), 2, CELLS_OF_HEAD) });
            if (!mine && contexts.length > 6) return;
            const long = textWidth(tensor.shownHead(head), pen.least) / 2;
            pen.note(tensor.shownHead(head), clamp(x + each / 2, name + long, name + width - long),
                y + inner + pen.size * 0.55, grown * fade, { align: 'center', bold: mine,
                    colour: mine ? '--mark-text' : '--quiet' });
        });
        motion.headsAt = { x: name, y: this.y(row), width, height: inner + pen.size,
            count: contexts.length };
        if (this.reads) pen.text('× W_O', name + width + 20, this.y(row) + inner / 2,
            { alpha: this.at('heads', 0.5, 0.9) * fade, colour: '--quiet' });
        return row + 1;
    }

    // The last stream, read by the embedding.
    drawPrediction() {
        const { high, journey, moment, pen, wide } = this;
        const list = likeliestOf(journey).slice(0, 8);
        const names = candidateNames(list);
        const size = pen.small ? 18 : Math.min(pen.size * 1.35, high / 14);
        const left = pen.small ? 110 : wide * 0.19;
        const long = (wide - left) * (pen.small ? 0.65 : 0.62);
        const right = left + long + 16;
        const strip = part(moment.p, 0, 0.3);
        const last = journey.steps.at(-1);
        if (last) {
            pen.text(say('stream'), left - 12, 8 + size, { align: 'right', bold: true });
            pen.strip(last.values, left, 8, long, size * 1.8,
                { most: this.most.stream, frame: '--accent', cells: CELLS_OF_STREAM });
            if (!pen.small) pen.note(say('× embedding, softmax'), right, 8 + size, strip,
                { room: wide - right });
        }
        list.forEach((one, i) => {
            const y = size * 3.6 + i * ((high - size * 4) / 8);
            const grown = part(moment.p, 0.25 + 0.04 * i, 0.7 + 0.04 * i);
            pen.text(names[i], left - 12, y,
                { align: 'right', size, alpha: strip, bold: !i, room: left - 16 });
            pen.meter(left, y - size / 2, long, size, one.share * grown, strip);
            pen.text(percent(one.share), right, y, { size, alpha: grown });
        });
    }
}
