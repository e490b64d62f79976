// The values of a head as arrows that can be turned.

function drawArrows(pen, picture, { x, y, width, height }) {
    const { journey, moment } = picture;
    if (moment.scene === 'vector') return;
    placeValues(journey);
    const { keys, points, own } = journey;
    const centre = [x + width / 2, y + height / 2 + 8];
    const long = ([a, b, c]) => Math.hypot(a, b, 0.6 * c);
    const visible = points.filter((_, at) => !keys[at].hidden);
    const reach = Math.max(...visible.map(long), 1e-6);
    const scale = (Math.min(width, height) / 2 - (height < 260 ? 24 : 44)) / reach;
    const flat = turned(centre, scale);
    const origin = flat([0, 0, 0]);
    for (const axis of [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        pen.line([-1, 1].map((end) => flat(axis.map((one) => end * reach * one))), '--edge', 1);
    pen.text(say('values as arrows'), x + 4, y + 16, { size: pen.least, colour: '--quiet' });
    motion.space = { x, y, width, height };
    const masking = picture.at('mask', 0.4, 0.7);
    const known = picture.weighs(0.7, 0.85);
    const weighed = picture.at('values', 0.45, 0.95);
    const names = new ArrowNames(pen, { x, y, width, height });
    for (const one of journey.order.concat(keys.filter(({ hidden }) => hidden))) {
        const tip = flat(points[one.j]);
        const mine = one === own;
        const strong = known * Math.min(1, Math.abs(one.by));
        const leaves = one.hidden ? 1 - masking : 1;
        const colour = mine ? '--accent' : strong > 0.05 ? '--bar' : '--ghost';
        const faint = mine ? 0.9 : mix(0.55, 0.25 + 0.75 * strong, known);
        pen.arrow(origin, tip, colour, mix(1.5, 1 + 3 * strong, known),
            faint * leaves * mix(1, 0.55, weighed));
        if (mine || !known || strong >= 0.03)
            names.put(one.label, tip, centre,
                { bold: mine || strong > 0.3, alpha: leaves, colour: mine ? '--accent'
                : '--text' });
    }
    if (moment.scene === 'sum') drawChain(pen, picture, { flat, x, y, width, height });
}

// A function from three numbers to a place, as turned by the reader.
function turned([x, y], scale) {
    const [cy, sy] = [Math.cos(motion.yaw), Math.sin(motion.yaw)];
    const [cp, sp] = [Math.cos(motion.pitch), Math.sin(motion.pitch)];
    return ([a, b, c]) =>
        [x + scale * (a * cy + c * sy), y - scale * (b * cp - (c * cy - a * sy) * sp)];
}

// A chain of weighted arrows whose end is the context: at first the query's own value alone.
function drawChain(pen, picture, { flat, x, y, width, height }) {
    const { order, own, points, query } = picture.journey;
    const moved = picture.at('sum', 0.05, 0.85);
    const shareOf = (one) => mix(Number(one === own), one.by, moved);
    let from = [0, 0, 0];
    for (const one of [...order].sort((a, b) => Number(b === own) - Number(a === own))) {
        const to = from.map((value, axis) => value + shareOf(one) * points[one.j][axis]);
        if (Math.abs(shareOf(one)) > 0.01)
            pen.arrow(flat(from), flat(to), one === own ? '--accent' : '--bar', 3, 0.95);
        from = to;
    }
    if (own) pen.line([flat(points[own.j]), flat(from)], '--mark', 1.5, 0.8, [4, 4]);
    pen.arrow(flat([0, 0, 0]), flat(from), '--mark', 4.5);
    // named in a key below: a name at the tip would cover that of its own word
    const key = y + height - pen.least * 0.8;
    pen.arrow([x + 8, key], [x + 44, key], '--mark', 4.5);
    pen.text(say('context of #', quoted(query)), x + 54, key,
        { size: pen.least, bold: true, colour: '--mark-text', room: width - 56 });
}

// Names at the tips of arrows, moved down until they do not cover one another; those that would
// leave the drawing are left out.
class ArrowNames {
    constructor(pen, space) {
        Object.assign(this, { pen, space, placed: [] });
    }

    put(label, [tipX, tipY], [centreX, centreY], options) {
        const { pen, space, placed } = this;
        const size = pen.least;
        const wide = textWidth(label, size);
        const right = tipX >= centreX;
        const left = clamp(right ? tipX + 6 : tipX - 6 - wide, space.x,
            space.x + space.width - wide);
        let y = clamp(tipY + (tipY < centreY ? -8 : 10), space.y + 2 * size, Infinity);
        const covers = (one) => Math.abs(one.y - y) < size * 1.05 && one.left < left + wide + 4
            && left < one.left + one.wide + 4;
        while (placed.some(covers)) y += size * 0.35;
        if (y > space.y + space.height - 2 * size) return;
        placed.push({ left, wide, y });
        pen.text(label, left, y, { size, ...options });
    }
}
