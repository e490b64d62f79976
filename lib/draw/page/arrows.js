// The values of a head as arrows that can be turned.

function drawArrows(pen, picture, space) {
    const { journey, moment } = picture;
    if (moment.scene === 'vector') return;
    placeValues(journey);
    motion.space = space;
    const { x, y, width, height } = space;
    const { isInput, keys, order, own, points } = journey;
    const centre = [x + width / 2, y + height / 2 + 8];
    const ends = [...order.map(({ j: at }) => points[at]), [0, 0, 0]];
    const axes = [0, 1, 2].map((axis) => [Math.min, Math.max].map((end) =>
        end(...ends.map((one) => one[axis]))));
    const middle = axes.map(([low, high]) => (low + high) / 2);
    const apart = (one) => one.map((value, axis) => value - middle[axis]);
    const sizeOf = ([a, b, c]) => Math.hypot(a, b, 0.6 * c);
    const reach = Math.max(...ends.map((one) => sizeOf(apart(one))), 1e-6);
    const turn = turned(centre, (Math.min(width, height) / 2 - (height < 260 ? 24 : 44)) / reach);
    const flat = (one) => turn(apart(one));
    for (const [axis, both] of axes.entries())
        pen.line(both.map((end) => flat(axes.map((_, one) => (one === axis ? end : 0)))),
            '--edge');
    pen.note(say(isInput ? 'The embeddings as arrows' : 'values as arrows'), x + 4, y + 16);
    const masking = picture.at('mask', 0.4, 0.7);
    const known = picture.weighs(0.7, 0.85);
    const weighed = picture.at('values', 0.45, 0.95);
    const shafts = ends.flatMap((one) => Array.from({ length: 12 }, (_, at) => {
        const [left, top] = flat(one.map((value) => (value * (at + 1)) / 12));
        return { left, y: top, wide: 0, high: 0 };
    }));
    const lines = moment.scene === 'sum' ? linesOfKey(pen, journey, space) : [];
    const placed = { names: [...lines], shafts, centre: flat([0, 0, 0]) };
    for (const one of order.concat(keys.filter(({ hidden }) => hidden))) {
        const tip = flat(points[one.j]);
        const mine = one === own;
        const strong = known * Math.min(1, Math.abs(one.by));
        const alpha = one.hidden ? 1 - masking : 1;
        const faint = mine ? 0.9 : mix(0.55, 0.25 + 0.75 * strong, known);
        pen.arrow(flat([0, 0, 0]), tip, mine ? '--accent' : strong > 0.05 ? '--bar' : '--ghost',
            mix(1.5, 1 + 3 * strong, known), faint * alpha * mix(1, 0.55, weighed));
        if (mine || !known || strong >= 0.03)
            nameTip(pen, space, placed, one.label, tip,
                { bold: mine || strong > 0.3, alpha, colour: mine ? '--accent' : '--text' });
    }
    if (lines.length) drawChain(pen, picture, flat, space, lines);
}

// A function from three numbers to a place, as turned by the reader.
function turned([x, y], scale) {
    const [cy, sy] = [Math.cos(motion.yaw), Math.sin(motion.yaw)];
    const [cp, sp] = [Math.cos(motion.pitch), Math.sin(motion.pitch)];
    return ([a, b, c]) =>
        [x + scale * (a * cy + c * sy), y - scale * (b * cp - (c * cy - a * sy) * sp)];
}

// A chain of weighted arrows whose end is the context: at first the query's own value alone.
function drawChain(pen, picture, flat, { x, width }, lines) {
    const { order, own, points } = picture.journey;
    const moved = picture.at('sum', 0.05, 0.85);
    let from = [0, 0, 0];
    for (const one of [...order].sort((a, b) => Number(b === own) - Number(a === own))) {
        const share = mix(Number(one === own), one.by, moved);
        const to = from.map((value, axis) => value + share * points[one.j][axis]);
        if (Math.abs(share) > 0.01)
            pen.arrow(flat(from), flat(to), one === own ? '--accent' : '--bar', 3, 0.95);
        from = to;
    }
    pen.arrow(flat([0, 0, 0]), flat(from), '--mark', 4.5);
    for (const { words, y, arrow, ...options } of lines) {
        pen.arrow([x + 4, y], [x + 30, y], ...arrow);
        pen.note(words, x + 38, y, 1, { room: width - 38, ...options });
    }
}

// The name of these arrows, below them: a name at a tip would cover the name of its own word.
function linesOfKey(pen, { query }, { x: left, y, height }) {
    const lines = [{ words: say('weighted, placed end to end'), arrow: ['--bar', 3] },
        { words: say('context of #', quoted(query)), arrow: ['--mark', 4.5],
            bold: true, colour: '--mark-text' }];
    return lines.map((line, at) => ({ ...line, left, wide: 38 + textWidth(line.words, pen.least),
        high: pen.least, y: y + height - pen.least * (2.2 - 1.3 * at) }));
}

// A name near the tip of an arrow, where it covers no name and, if there is such a place, no arrow;
// one that would leave the drawing is left out.
function nameTip(pen, space, { names, shafts, centre }, label, [tipX, tipY], options) {
    const size = pen.least;
    const wide = textWidth(label, size);
    const away = tipY < centre[1] ? -1 : 1;
    const start = Math.max(tipY + (away < 0 ? -8 : 10), space.y + 2 * size);
    const sides = [tipX + 6, tipX - wide / 2, tipX - 6 - wide];
    if (tipX < centre[0]) sides.reverse();
    const places = Array.from({ length: 48 }, (_, at) => {
        const level = Math.floor(at / 3);
        return { wide, high: size,
            left: clamp(sides[at % 3], space.x, space.x + space.width - wide),
            y: start + (level % 2 ? away : -away) * Math.ceil(level / 2) * size * 0.35 };
    }).filter(({ y }) => y >= space.y + 2 * size && y <= space.y + space.height - 2 * size);
    const isFree = (list) => (place) => !list.some((one) =>
        Math.abs(one.y - place.y) < (size + one.high) * 0.6
        && one.left < place.left + wide + 4 && place.left < one.left + one.wide + 4);
    const place = places.find(isFree([...names, ...shafts])) || places.find(isFree(names));
    if (!place) return;
    names.push(place);
    pen.note(label, place.left, place.y, 1, options);
}
