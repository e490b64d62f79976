// Pictures of a journey on a canvas. Each is a function of the scene and of how much of it has
// passed, so that it can be played, stepped and scrubbed.

const CELLS_OF_HEAD = 32; // longer vectors: a cell shows the largest of several numbers
const CELLS_OF_STREAM = 96;

const ease = (p) => (p <= 0 ? 0 : p >= 1 ? 1 : p * p * (3 - 2 * p));
const part = (p, from, to) => ease((p - from) / (to - from));
const mix = (a, b, p) => a + (b - a) * p;

// Numbers in at most so many cells, each the largest of those that share it.
function cellsOf(values, most) {
    const each = Math.ceil(values.length / most);
    if (each === 1) return values;
    return Float32Array.from({ length: Math.ceil(values.length / each) }, (_, cell) => {
        let best = 0;
        for (const value of values.subarray(cell * each, (cell + 1) * each))
            if (Math.abs(value) > Math.abs(best)) best = value;
        return best;
    });
}

// The size of a number that gets the strongest colour: few numbers are larger.
function strongest(lists, share = 0.97) {
    const sizes = lists.flatMap((list) => [...(list || [])].map(Math.abs)).sort((a, b) => a - b);
    return sizes[Math.floor(share * (sizes.length - 1))] || 1e-6;
}

const scoreText = (value) =>
    Number.isFinite(value) ? minus(value.toFixed(Math.abs(value) >= 100 ? 1 : 2)) : '−∞';

class Pen {
    constructor(context, size, small) {
        const fine = small && !isProjecting(); // a phone: small letters, the arrows below
        Object.assign(this, { context, small, fine, size: fine ? 14 : size });
        this.least = fine ? 13 : Math.max(18, size * 0.85);
    }

    // Draw with an opacity; nothing if it is 0.
    faint(alpha, act) {
        if (!(alpha > 0.004)) return;
        this.context.globalAlpha = Math.min(alpha, 1);
        act(this.context);
        this.context.globalAlpha = 1;
    }

    text(words, x, y, options = {}) {
        const { size = this.size, bold, align = 'left', colour = '--text', alpha = 1,
            room } = options;
        this.faint(alpha, (context) => {
            context.font = font(size, bold ? '700' : '');
            context.fillStyle = colour.startsWith('--') ? variable(colour) : colour;
            context.textAlign = align;
            context.textBaseline = 'middle';
            context.fillText(room ? shortened(words, room, size) : words, x, y);
        });
    }

    // A vector as coloured cells; `most`: the size with the strongest colour; `by`: a factor.
    strip(values, x, y, width, height, options = {}) {
        const { most = 1, alpha = 1, upTo = 1, frame, by = 1, cells = CELLS_OF_HEAD } = options;
        const drawn = cellsOf(values, cells);
        const ramp = rampOf(true);
        const each = width / drawn.length;
        this.faint(alpha, (context) => {
            for (let i = 0; i < Math.ceil(drawn.length * upTo); i++) {
                const share = clamp((drawn[i] * by) / most, -1, 1);
                const middle = (LEVELS + 1) / 2;
                context.fillStyle = css(ramp[Math.round(middle + (middle - 1) * share)]);
                context.fillRect(x + i * each, y, Math.min(each + 0.6, x + width - x - i * each),
                    height);
            }
            context.strokeStyle = variable(frame || '--edge');
            context.lineWidth = frame ? 2 : 1;
            context.strokeRect(x + 0.5, y + 0.5, width * upTo, height - 1);
        });
    }

    box(x, y, width, height, colour, alpha = 1) {
        this.faint(alpha, (context) => {
            context.fillStyle = colour.startsWith('--') ? variable(colour) : colour;
            context.fillRect(x, y, width, height);
        });
    }

    line(points, colour, width = 1, alpha = 1, dash = []) {
        this.faint(alpha, (context) => {
            context.strokeStyle = variable(colour);
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
        this.faint(alpha, (context) => {
            context.fillStyle = variable(colour);
            context.beginPath();
            context.moveTo(x2, y2);
            context.lineTo(x2 - ux - uy * 0.45, y2 - uy + ux * 0.45);
            context.lineTo(x2 - ux + uy * 0.45, y2 - uy - ux * 0.45);
            context.fill();
        });
    }
}

// The keys that fit: the query, the next masked one, and those with the largest weights.
function keysShown({ keys, row, order, own }, most) {
    if (keys.length <= most) return keys;
    const first = own ? [row, row + 1] : [];
    const kept = new Set([...first, ...order.map((one) => one.j)].slice(0, most - 1));
    return keys.filter((one) => kept.has(one.j));
}

// Scenes of a head, with a row for each key.
class HeadPicture {
    constructor(pen, journey, moment, { wide, high }) {
        Object.assign(this, { pen, journey, moment });
        const { size, small } = pen;
        const spaceHigh = small ? Math.round(high * 0.38) : 0; // arrows below, on a phone
        this.band = size * (small ? 2.2 : 2.6);
        const room = high - spaceHigh - 2 * this.band - size;
        this.keys = keysShown(journey, Math.max(4, Math.floor(room / (size * 1.22))));
        this.each = Math.min(room / this.keys.length, size * 2.1);
        this.inner = Math.max(8, this.each - 6);
        this.top = this.band + size * 1.1;
        const spaceWide = small ? wide : Math.max(300, wide * 0.32);
        this.table = small ? wide : wide - spaceWide - 24;
        const share = (from, to) => ({ x: this.table * from, width: this.table * (to - from) });
        const longest = Math.max(...this.keys.map(({ label }) => textWidth(label, size))) + 10;
        const names = clamp(longest / this.table, 0.13, small ? 0.2 : 0.21);
        const places = small
            ? { k: [0.21, 0.53], bar: [0.21, 0.53], cell: [0.55, 0.69], v: [0.71, 1] }
            : { k: [names + 0.01, 0.36], bar: [0.38, 0.66], cell: [0.675, 0.765], v: [0.78, 1] };
        this.columns = { name: share(0, names) };
        for (const [name, place] of Object.entries(places)) this.columns[name] = share(...place);
        this.space = small
            ? { x: 0, y: high - spaceHigh, width: wide, height: spaceHigh }
            : { x: wide - spaceWide, y: 0, width: spaceWide, height: high };
        const { q, order } = journey;
        this.flying = order.filter((one) => Math.abs(one.by) > 0.004);
        this.most = { x: strongest([journey.x]), k: q
            && strongest([q, ...this.keys.map(({ k }) => k)]) };
        this.most.v = q && strongest(this.keys.map(({ v }) => v));
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

    y(row) {
        return this.top + row * this.each;
    }

    draw() {
        const { journey, keys, pen } = this;
        this.drawHeadings();
        this.drawQuery();
        if (journey.q || !journey.tensor.isMixer) this.findBars();
        keys.forEach((one, i) =>
            (journey.tensor.isMixer ? this.drawMap(one, i) : this.drawKey(one, i)));
        this.drawRest();
        if (!journey.q) return;
        this.drawPassing();
        this.drawSums();
        drawArrows(pen, this, this.space);
    }

    drawHeadings() {
        const { columns, journey, pen, moment } = this;
        const heading = (words, { x }, alpha) =>
            pen.text(say(words), x, this.top - pen.size * 0.55,
                { size: pen.least, colour: '--quiet', alpha });
        heading('key', columns.name, this.at('project') || this.at('map') || Number(!journey.x));
        if (journey.tensor.isMixer) return heading('taken from it', columns.bar, this.at('map'));
        if (!pen.small && journey.q) heading('k', columns.k, this.at('project'));
        if (journey.q) heading(this.barName(), columns.bar, this.at('dot', 0, 0.1));
        heading('weight', columns.cell, this.weighs(0.6, 0.8));
        const { scene, p } = moment;
        const isWeighed = scene === 'sum' || (scene === 'values' && p > 0.45);
        const name = journey.ways.differs ? 'difference × v' : 'weight × v';
        if (journey.q) heading(isWeighed ? name : 'v', columns.v, this.at('values', 0, 0.3));
        return null;
    }

    barName() {
        const { ways } = this.journey;
        const raw = ways.linear ? 'φ(q) · φ(k)' : 'q · k';
        if (this.at('scale', 0, 0.2) < 0.5) return raw;
        if (this.at('softmax', 0, 0.24) < 0.5) return `${raw} ${scaleWord(this.journey)}`;
        if (this.at('softmax', 0.4, 0.6) > 0.5) return '÷ sum';
        return ways.linear ? raw : 'exp(score − highest)';
    }

    // The end of the softmax, or of the mask if that comes later.
    weighs(from, to) {
        return this.at(this.journey.ways.renormalise ? 'mask' : 'softmax', from, to);
    }

    // The query: its vector, then q.
    drawQuery() {
        const { band, columns, journey, pen, table } = this;
        const { name } = columns;
        const [high, middle] = [band - 12, 4 + (band - 12) / 2];
        const wide = Math.min(name.width, 24 + textWidth(journey.query, pen.size));
        pen.box(0, 4, wide, high, '--accent');
        const ink = { bold: true, align: 'center', colour: '--on-accent', room: wide - 4 };
        pen.text(journey.query, wide / 2, middle, ink);
        const x = name.width + 8;
        const width = pen.small ? table - x : table * 0.5;
        this.vector = { x, width };
        if (journey.x && this.at('project', 0, 0.5) < 1) {
            const alpha = 1 - this.at('project', 0.3, 0.5);
            const strip = { most: this.most.x, upTo: this.at('vector', 0, 0.7), alpha,
                cells: CELLS_OF_STREAM };
            pen.strip(journey.x, x, 8, width, band - 20, strip);
            const shows = pen.small ? 0 : alpha * this.at('vector', 0.5, 0.8);
            pen.text(say('# numbers', journey.x.length), x + width + 10, middle,
                { size: pen.least, colour: '--quiet', alpha: shows });
        }
        const grown = this.at('project', 0.05, 0.5);
        if (!journey.q || grown <= 0) return;
        const to = pen.small ? columns.bar : columns.k;
        const [left, long] = [mix(x, to.x, grown), mix(width, to.width, grown)];
        pen.strip(journey.q, left, 8, long, band - 20,
            { most: this.most.k, frame: '--mark', alpha: grown });
        pen.text('q', left + long + 8, middle, { bold: true, colour: '--mark-text', alpha: grown });
        this.drawSiblings(left + long + 36, middle, grown * this.at('project', 0.5, 0.9));
    }

    // Other queries that meet the same keys.
    drawSiblings(x, middle, alpha) {
        const { columns, journey, pen, table } = this;
        const list = journey.queries.filter((one) => one.q);
        if (!journey.queries.length || pen.small) return;
        const wide = columns.k.width;
        const [other] = list;
        if (other) pen.strip(other.q, x, middle - 10, wide, 20,
            { most: this.most.k, alpha: 0.6 * alpha });
        const left = other ? x + wide + 10 : x;
        const more = journey.queries.length - 1;
        const words = other && !more ? `q · ${other.name}`
            : say('# heads share k and v', journey.queries.length + 1);
        pen.text(words, left, middle,
            { size: pen.least, colour: '--quiet', alpha, room: table - left });
    }

    findBars() {
        const { keys, columns, moment } = this;
        const drawn = keys.map((one) => one.raw).filter(Number.isFinite);
        const [low, high] = [Math.min(0, ...drawn), Math.max(0, ...drawn)];
        this.unit = columns.bar.width / (high - low || 1);
        this.zero = columns.bar.x - low * this.unit;
        this.sweep = moment.scene === 'dot' ? part(moment.p, 0.03, 0.97) * (keys.length + 0.4)
            : Infinity;
        const input = Math.max(...keys.map((one) => Math.abs(one.scaled)).filter(Number.isFinite),
            1e-6);
        const raw = Math.max(...drawn.map(Math.abs), 1e-6);
        this.zoom = this.journey.ways.linear ? 1 : raw / input; // of the axis, after the scale
    }

    drawKey(one, i) {
        const { columns, inner, journey, pen } = this;
        const { name, k } = columns;
        const mid = this.y(i) + this.each / 2;
        const hidden = one.hidden ? this.rowAt('mask', i, 0.05, 0.3, 0.45) : 0;
        const isQuery = one === journey.own;
        const stagger = this.rowAt('project', i, 0.3, 0.5, 0.2);
        pen.text(one.label, 0, mid, {
            ...{ bold: isQuery, room: name.width - 4, colour: isQuery ? '--accent' : '--text' },
            alpha: (this.moment.scene === 'vector' ? 0.55 : 1) * (1 - 0.55 * hidden),
        });
        const { x, width } = this.vector;
        const arrives = this.rowAt('vector', i, 0.35, 0.3, 0.25) * (1 - stagger);
        if (journey.xs[one.j] && arrives > 0)
            pen.strip(journey.xs[one.j], mix(x, pen.small ? x : k.x, stagger), mid - inner / 2,
                mix(width, pen.small ? width : k.width, stagger), inner,
                { most: this.most.x, alpha: 0.75 * arrives, cells: CELLS_OF_STREAM });
        if (journey.q && !pen.small)
            pen.strip(one.k, k.x, mid - inner / 2, k.width, inner, { most: this.most.k,
                alpha: stagger * (1 - 0.75 * hidden) * (1 - 0.65 * this.at('values', 0, 0.2)) });
        if (journey.q && this.at('dot', 0, 0.05)) this.drawScore(one, i, mid, hidden);
        if (hidden > 0) {
            hatch(pen.context, { x: columns.bar.x, y: mid - inner / 2,
                width: columns.bar.width * hidden, height: inner });
            const zero = this.at('softmax') || journey.ways.renormalise || journey.ways.linear;
            pen.text(zero ? '0' : '−∞', columns.bar.x + 10, mid,
                { size: pen.least, colour: '--quiet', alpha: hidden });
        }
        this.drawWeight(one, i, mid);
        this.frameMarks(one, mid);
        if (journey.q && !one.hidden) this.drawValue(one, i, mid);
    }

    // The score as a bar, as the query passes; scaled; then the exponential, then the weight.
    drawScore(one, i, mid, hidden) {
        const { columns, inner, journey, pen, sweep, zero, unit } = this;
        const met = this.at('dot') === 1 ? 1 : part(sweep - i, 0.1, 1);
        const { bar, k: place } = columns;
        if (sweep > i && sweep < i + 1.15 && !pen.small) {
            const [q, k] = journey.ways.linear ? [journey.q.map(phi), one.k.map(phi)]
                : [journey.q, one.k];
            const products = k.map((value, d) => value * q[d]);
            pen.strip(products, place.x, mid - inner / 2, place.width, inner,
                { most: strongest([products], 1), alpha: part(sweep - i, 0.05, 0.4),
                    frame: '--mark' });
        }
        if (met <= 0 || !Number.isFinite(one.raw)) return;
        const softens = this.at('softmax', 0.02, 0.3);
        const isBar = softens === 0 || !(one.power > 0 || one.share > 0);
        const shownScore = Number.isFinite(one.scaled)
            ? mix(one.raw, one.scaled, this.at('scale', 0.05, 0.5)) : one.raw;
        if (isBar) {
            const length = met * shownScore * mix(1, this.zoom, this.at('scale', 0.6, 1)) * unit;
            const alpha = 1 - hidden;
            if (this.at('softmax') && one.hidden) return;
            pen.box(Math.min(zero, zero + length), mid - inner * 0.36, Math.abs(length),
                inner * 0.72,
                one.raw < 0 ? '--below' : '--bar', 0.85 * alpha);
            const inside = Math.abs(length) > bar.width * 0.6;
            const edge = inside ? zero + length - Math.sign(length) * 8
                : zero + Math.max(length, 0) + 8;
            pen.text(scoreText(shownScore), edge, mid,
                { size: pen.least, alpha: met * (1 - 2 * hidden),
                align: inside && length > 0 ? 'right' : 'left', colour: inside ? '--on-accent'
                    : '--text' });
            return;
        }
        const { renormalise } = journey.ways;
        const divided = this.at('softmax', 0.4, 0.62);
        const remade = renormalise ? this.at('mask', 0.6, 0.8) : 0;
        const most = Math.max(...journey.keys.map((other) => other.power));
        const value = mix(mix(one.power / (journey.ways.linear ? most : 1), one.share, divided),
            one.weight, remade);
        const before = (zero - bar.x + one.scaled * this.zoom * unit) / (bar.width * 0.72);
        const width = mix(Math.max(before, 0), value, softens) * bar.width * 0.72;
        const fades = 1 - 0.6 * this.weighs(0.75, 1) - 0.1 * this.at('values', 0, 0.1);
        pen.box(bar.x, mid - inner * 0.36, Math.max(width, 1), inner * 0.72, '--bar',
            0.85 * fades * (1 - hidden));
        const words = Math.abs(value) < 0.0005 ? '0.000'
            : (divided < 1 && journey.ways.linear ? one.power : value).toFixed(3);
        const leaves = pen.small ? 1 - this.weighs(0.55, 0.7) : 1;
        pen.text(words, bar.x + width + 8, mid,
            { size: pen.least, alpha: softens * fades * leaves * (1 - 2 * hidden) });
    }

    // The weight as a colour.
    drawWeight(one, i, mid) {
        const { columns, inner, journey, pen } = this;
        const filled = this.weighs(0.6 + (0.25 * i) / this.keys.length,
            0.75 + (0.25 * i) / this.keys.length);
        if (filled <= 0 || one.hidden) return;
        const { x, width } = columns.cell;
        const colour = new Tone(Math.min(0, one.by), 1, 'linear').colour(one.by);
        pen.box(x, mid - inner / 2, width * filled, inner, css(colour));
        pen.context.lineWidth = 1;
        pen.context.strokeStyle = variable('--edge');
        pen.context.strokeRect(x + 0.5, mid - inner / 2 + 0.5, width, inner - 1);
        const words = Math.abs(one.by) < 0.005 ? '' : minus(one.by.toFixed(2));
        const bold = one === journey.order[0];
        pen.text(words, x + width / 2, mid,
            { size: pen.least, bold, align: 'center', colour: inkOn(colour), alpha: filled });
    }

    // Frames of the cells that a step of the lesson discusses.
    frameMarks({ j }, mid) {
        const { columns, inner, pen } = this;
        for (const { tensor, column } of motion.step?.marks || []) {
            const isBar = /scores|masked$/.test(tensor.tensor);
            if (column !== j || !(isBar || /weights|softmax|mask$/.test(tensor.tensor))) continue;
            const { x, width } = isBar ? columns.bar : columns.cell;
            if (!(isBar ? this.at('dot') : this.weighs(0.6, 0.8))) continue;
            pen.context.strokeStyle = variable('--mark');
            pen.context.lineWidth = 2;
            pen.context.strokeRect(x - 2, mid - inner / 2 - 2, width + 4, inner + 4);
        }
    }

    // The value, then the value by its weight, which falls to the sum.
    drawValue(one, i, mid) {
        const { columns, flying, inner, pen } = this;
        const shows = this.rowAt('values', i, 0.02, 0.2, 0.18);
        if (shows <= 0) return;
        const { x, width } = columns.v;
        const by = mix(1, one.by, this.at('values', 0.45, 0.95));
        const moved = this.fallen(flying.indexOf(one));
        const strip = { most: this.most.v, by };
        pen.strip(one.v, x, mid - inner / 2, width, inner,
            { ...strip, alpha: moved > 0 ? 0.35 : shows });
        if (moved > 0 && moved < 1)
            pen.strip(one.v, x, mix(mid - inner / 2, this.sumY(), moved), width, inner,
                { ...strip, frame: '--mark' });
    }

    // How far the weighted value of a rank has fallen; those that are too small to see fall last.
    fallen(rank) {
        const start = 0.04 + (0.5 * rank) / this.flying.length;
        return rank < 0 ? this.at('sum', 0.85, 0.95) : this.at('sum', start, start + 0.34);
    }

    sumY() {
        return this.y(this.keys.length) + this.pen.size * 0.5;
    }

    // A row of the map of a layer that keeps a state.
    drawMap(one, i) {
        const { columns, inner, journey, pen } = this;
        const { bar, name } = columns;
        const mid = this.y(i) + this.each / 2;
        const isQuery = one.j === journey.row;
        const most = Math.max(...journey.keys.map(({ weight }) => Math.abs(weight)), 1e-6);
        const grown = this.rowAt('map', i, 0.05, 0.6, 0.25);
        pen.text(one.label, 0, mid,
            { bold: isQuery, room: name.width - 4, colour: isQuery ? '--accent' : '--text' });
        if (one.hidden)
            return grown && hatch(pen.context,
                { x: bar.x, y: mid - inner / 2, width: bar.width, height: inner });
        const length = (grown * one.weight * bar.width) / 2.4 / most;
        const zero = bar.x + bar.width / 2;
        pen.box(Math.min(zero, zero + length), mid - inner * 0.36, Math.abs(length), inner * 0.72,
            one.weight < 0 ? '--below' : '--bar', 0.85);
        return pen.text(brief(Number(one.weight.toPrecision(3))), Math.max(zero, zero + length) + 8,
            mid, { size: pen.least, alpha: grown });
    }

    drawRest() {
        const { journey, keys, pen } = this;
        const rest = journey.keys.filter((one) => !keys.includes(one));
        const y = this.y(keys.length) + pen.size * 0.55;
        const quiet = { size: pen.least, colour: '--quiet' };
        const weight = rest.reduce((all, one) => all + one.weight, 0);
        const known = this.weighs(0.6, 0.8) && !journey.tensor.isMixer;
        const words = [rest.length && `+ ${rest.length}${known ? ` · ${percent(weight)}` : ''}`,
            journey.sink && known && `${say('sink')} ${percent(journey.sink)}`];
        pen.text(words.filter(Boolean).join(' · '), 0, y, quiet);
    }

    // The query travels down, over the keys.
    drawPassing() {
        const { columns, inner, journey, keys, moment, pen, sweep } = this;
        if (moment.scene !== 'dot' || pen.small || sweep >= keys.length) return;
        const y = mix(8, this.y(Math.min(sweep, keys.length - 0.4)) - 2, part(moment.p, 0, 0.05));
        pen.strip(journey.q, columns.k.x, y - inner * 0.32, columns.k.width, inner * 0.45,
            { most: this.most.k, frame: '--mark' });
    }

    drawSums() {
        const { columns, flying, inner, journey, moment, pen } = this;
        if (moment.scene === 'softmax') {
            const alpha = this.at('softmax', 0.3, 0.4) * (1 - this.at('softmax', 0.6, 0.7));
            pen.text(`${say('sum')} ${journey.sum.toFixed(3)}`, columns.bar.x,
                this.y(this.keys.length) + pen.size, { bold: true, alpha });
        }
        if (moment.scene !== 'sum') return;
        const y = this.sumY();
        const { x, width } = columns.v;
        const partial = new Float32Array(journey.context.length);
        journey.order.forEach(({ v, by }, rank) => {
            const share = by * part(this.fallen(rank < flying.length ? rank : -1), 0.8, 1);
            for (let d = 0; d < partial.length; d++) partial[d] += share * v[d];
        });
        motion.drawn = partial;
        const alpha = this.at('sum', 0, 0.1);
        pen.line([[x, y - 5], [x + width, y - 5]], '--text', 1.5, alpha);
        pen.strip(partial, x, y, width, inner, { most: this.most.v, frame: '--mark', alpha });
        pen.text(say('context'), x - 12, y + inner / 2,
            { bold: true, align: 'right', colour: '--mark-text', alpha });
    }
}

// The scene in which a part of a layer is added to the stream.
function sceneOfStep(kind) {
    return /^(MLP|layer input)$/.test(kind) ? 'mlp' : 'stream';
}

// Scenes of the stream, and of the prediction.
class StreamPicture extends HeadPicture {
    constructor(pen, journey, moment, { wide, high }) {
        super(pen, journey, moment, { wide, high });
        const { steps } = journey;
        const reads = !pen.small && steps.some((one) => one.lens);
        this.name = pen.small ? 96 : wide * 0.19;
        this.reads = reads ? wide * 0.3 : 0;
        this.width = wide - this.name - this.reads - (reads ? 16 : 2);
        this.wide = wide;
        this.high = high;
        const rows = steps.length + this.rowsOfHeads();
        this.each = Math.min(high / (rows + 0.3), pen.size * 4.2);
        this.inner = Math.min(this.each * 0.5, pen.size * 1.6);
        this.most.stream = strongest(
            steps.filter(({ kind }) => /before|sum|after|norm/.test(kind)).map(({ values }) =>
            values));
    }

    rowsOfHeads() {
        return Number(Boolean(headContexts(this.journey).length));
    }

    y(row) {
        return 8 + row * this.each;
    }

    draw() {
        if (this.moment.scene === 'predict') return this.drawPrediction();
        let row = 0;
        let before = null; // the row of the stream, and of what is added to it
        let added = [];
        for (const step of this.journey.steps) {
            const isAttention = step.kind !== 'MLP' && !/before|sum|after|norm/.test(step.kind);
            if (isAttention && this.isMine(step)) row = this.drawHeads(row);
            const scene = sceneOfStep(step.of || step.kind);
            const starts = isAttention && this.isMine(step) ? ['heads', 0.5, 0.95]
                : [scene, 0, 0.35];
            const shows = step.kind === 'before' ? 1 : this.at(...starts);
            if (/before|sum|after|norm/.test(step.kind)) {
                this.drawStream(step, row, before, added, step.kind === 'before' ? 1
                    : this.at(scene, 0.35, 0.85));
                [before, added] = [row, []];
            } else {
                this.label(addedName(step), row, shows,
                    { colour: isAttention ? '--mark-text' : '--text' });
                const y = isAttention && this.isMine(step)
                    ? mix(this.y(row - 1), this.y(row), shows) : this.y(row);
                this.stripOf(step, y, { alpha: shows, frame: isAttention ? '--mark' : null });
                added.push({ row, step });
            }
            row += 1;
        }
        return null;
    }

    // The part whose heads the journey follows.
    isMine({ kind }) {
        const { tensor, prefix } = this.journey;
        if (tensor.isMixer) return kind === 'mixer';
        return kind === (prefix === 'cross_' ? 'cross-attention' : 'attention');
    }

    label(words, row, alpha, options = {}) {
        const { inner, name, pen } = this;
        pen.text(words, name - 12, this.y(row) + inner / 2,
            { align: 'right', alpha, size: pen.fine ? 12.5 : pen.size, room: name - 12,
            ...options });
    }

    stripOf({ values }, y, options) {
        this.pen.strip(values, this.name, y, this.width, this.inner,
            { most: this.most.stream, cells: CELLS_OF_STREAM, ...options });
    }

    drawStream(step, row, before, added, shows) {
        this.label(streamName(step), row, shows, { bold: step.kind !== 'before' });
        const parts = before === null ? [] : [{ row: before, step: this.lastStream }, ...added];
        if (shows > 0 && shows < 1)
            for (const one of parts) this.stripOf(one.step,
                mix(this.y(one.row), this.y(row), shows), { alpha: 0.6 });
        this.stripOf(step, this.y(row), { alpha: before === null ? 1 : part(shows, 0.7, 1) });
        this.lastStream = step;
        if (step.lens) this.drawLens(step, row, part(shows, 0.8, 1));
    }

    // What the stream would predict there.
    drawLens({ lens }, row, alpha) {
        const { inner, journey, name, pen, reads, width } = this;
        const [best] = journey.sentence.nextTokens.likeliest(
            predictedRow(journey.row, journey.sentence), lens);
        const y = this.y(row) + inner / 2;
        const words = `→ ${shown(best.name)}`;
        if (pen.small) return pen.text(`${words} ${percent(best.share)}`, name, y + inner / 2 + 10,
            { alpha, bold: true, size: pen.fine ? 12 : 18 });
        const x = name + width + 20;
        pen.text(words, x, y, { alpha, bold: true, room: reads * 0.4 });
        pen.box(x + reads * 0.42, y - 8, reads * 0.28, 16, '--track', alpha);
        pen.box(x + reads * 0.42, y - 8, reads * 0.28 * best.share, 16, '--bar', alpha);
        pen.text(percent(best.share), this.wide, y, { align: 'right', alpha, size: pen.least });
        if (!row) pen.text(say('read as the next token'), x, y + inner / 2 + pen.size * 0.7,
            { size: pen.least, colour: '--quiet', room: reads });
        return null;
    }

    // The contexts of all heads; returns the row after them.
    drawHeads(row) {
        const { inner, journey, name, pen, width } = this;
        const contexts = headContexts(journey);
        if (!contexts.length) return row;
        const grown = this.at('heads', 0, 0.4);
        const fade = 1 - 0.7 * this.at('stream', 0, 0.3);
        const each = width / contexts.length;
        const most = strongest(contexts);
        this.label(say('heads'), row, grown * fade);
        contexts.forEach((context, head) => {
            const mine = head === journey.index;
            const x = name + head * each;
            const y = this.y(row) + (1 - grown) * (mine ? 0 : 40);
            pen.strip(context, x + 2, y, each - 4, inner, { most, alpha: (mine ? 1 : grown) * fade,
                frame: mine ? '--mark' : null,
                    cells: clamp(Math.floor(each / 4), 2, CELLS_OF_HEAD) });
            if (!mine && contexts.length > 6) return;
            pen.text(journey.tensor.shownHead(head),
                clamp(x + each / 2, name + 40, name + width - 40), y + inner + pen.size * 0.55,
                { size: pen.least, align: 'center', colour: mine ? '--mark-text' : '--quiet',
                    bold: mine, alpha: grown * fade });
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
        const place = predictedRow(journey.row, journey.sentence);
        const list = journey.sentence.nextTokens.likeliest(place).slice(0, 8);
        const names = candidateNames(list);
        const size = pen.small ? 18 : Math.min(pen.size * 1.35, high / 14);
        const left = pen.small ? 110 : wide * 0.19;
        const long = (wide - left) * (pen.small ? 0.7 : 0.62);
        const strip = part(moment.p, 0, 0.3);
        const last = journey.steps.at(-1);
        if (last) {
            pen.text(say('stream'), left - 12, 8 + size, { align: 'right', bold: true });
            pen.strip(last.values, left, 8, long, size * 1.8,
                { most: this.most.stream, frame: '--accent', cells: CELLS_OF_STREAM });
            if (!pen.small) pen.text(say('× embedding, softmax'), left + long + 16, 8 + size,
                { colour: '--quiet', alpha: strip, size: pen.least,
                room: wide - left - long - 16 });
        }
        list.forEach((one, i) => {
            const y = size * 3.6 + i * ((high - size * 4) / 8);
            const grown = part(moment.p, 0.25 + 0.04 * i, 0.7 + 0.04 * i);
            pen.text(names[i], left - 12, y,
                { align: 'right', size, alpha: strip, bold: !i, room: left - 16 });
            pen.box(left, y - size * 0.5, long, size, '--track', strip);
            pen.box(left, y - size * 0.5, Math.max(1, long * one.share * grown), size, '--bar',
                strip);
            pen.text(percent(one.share), left + long + 16, y, { size, alpha: grown });
        });
    }
}

// The contexts of all heads of a query; [] if the page lacks them.
function headContexts({ sentence, tensor, layer, row, prefix }) {
    if (tensor.isMixer || prefix === 'enc.') return [];
    const list = [];
    for (let head = 0; head < tensor.shape[0]; head++) {
        const found = streamRow(sentence, `${prefix}context`, layer, row, head);
        if (found) list.push(found);
    }
    return list;
}

function addedName({ kind, factor, normed }) {
    const words = say(`+ ${kind}`);
    return `${words}${normed ? say(', normed') : ''}${factor === 1 ? '' : ` × ${brief(factor)}`}`;
}

function streamName({ kind }) {
    const names = { before: 'stream before', sum: '= stream', norm: 'norm of it',
        after: '→ stream' };
    return say(names[kind]);
}

// "÷ √24", "× 0.5", with what else changes the scores.
function scaleWord({ ways, tensor, q, own }) {
    const root = Math.abs(tensor.scale * Math.sqrt(q.length) - 1) < 1e-4;
    const by = tensor.scale === 1 ? '' : root ? `÷ √${q.length}` : `× ${brief(tensor.scale)}`;
    const biased = ways.slopes.some((slope) => slope > 0) || (ways.alibi === 'table' && own);
    return [ways.linear ? '' : by, biased && say('+ bias'), ways.cap > 0
        && say('capped')].filter(Boolean).join(' ');
}
