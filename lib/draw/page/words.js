// The text in large words, with arcs from the selected word to the words that its head looks at;
// above it the source of a translation, and after it the next token of the model.

const WORD_BOXES = { source: 'source', chips: 'sentence' }; // and the labels that they show
const WORD_SIZES = [20, 38]; // the smallest and the largest letters of a line, in pixels
const WORD_SIZE_OF_PAIR = 30; // the largest letters of a text with its source
const WORD_SIZE_ON_PHONE = 19;
const WORDS_LARGE = 60; // texts with more words have letters of WORD_SIZE_OF_MANY, and wrap
const WORD_SIZE_OF_MANY = 16;
const ARC_LEAST = 0.1; // smaller weights have no arc
const ARC_CUT = 0.02; // smaller weights, of arrows that are cut, have no line
const ARC_CROSS_LEAST = 0.2; // of the lines to a source
const ARC_MEAN_LEAST = 0.05; // of the mean of all heads
const WORD_SIZE_MEASURED = 28; // as in page.css
const ARC_STEP = 8; // pixels between points of an arc that numbers keep off
const CHINESE_WORD = /[\u2e80-\u9fff\uff00-\uffef]/;

function drawWords() {
    const { labels, nextTokens } = current();
    drawTokens('source', labels.source || [], null);
    drawTokens('chips', labels.sentence || [], nextTokens);
    setAside('source-line', !labels.source);
    drawSaid();
    fitWords();
    highlightChips(currentCell());
    for (const id of Object.keys(WORD_BOXES)) if (byId(id).firstChild) rove(byId(id), '.chip');
}

const setAside = (id, isAside) => byId(id).toggleAttribute('hidden', isAside);

function drawTokens(id, labels, next) {
    const box = byId(id);
    const text = labels.map(shown).join('');
    box.parentElement.dir = FROM_THE_RIGHT.test(text) ? 'rtl' : 'ltr';
    box.parentElement.classList.toggle('dense', CHINESE_WORD.test(text));
    const all = labels.map((label, at) => ({
        ...{ label, at, old: id === 'chips' ? otherWord(at) : '' },
        surprisal: next?.surprisal(at) ?? NaN,
    }));
    keepOrMake(box, all, ({ label, at, old, surprisal }) => {
        const isKnown = !Number.isNaN(surprisal);
        const bits = `, surprisal ${(surprisal / Math.LN2).toFixed(1)} bits`;
        const marks = { 'data-at': at, title: `${at}: ${label}${isKnown ? bits : ''}` };
        const word = element('bdi', shown(label), '', { translate: 'no' });
        const other = old && element('span', element('bdi', old), 'old', { translate: 'no' });
        const chip = buttonFor(() => pickToken(id, at, true), [word, other], 'chip', marks);
        chip.classList.toggle('second', at > 0 && id === 'chips' && at === current().second);
        onPoint(chip, (isOn) => (isOn ? pickToken(id, at) : hover(null)), HOVERS);
        return chip;
    });
}

// The word of the compared text at the place of a word, if it is another one; '': it is not.
function otherWord(at) {
    if (!comparesTexts()) return '';
    const [from, to] = [pinned, current()].map(({ labels }) => labels.sentence);
    const old = from[sameWords(from, to)(at)];
    return old === undefined || old === to[at] ? '' : shown(old);
}

// The word of a row, which in cross-attention is the one that it writes; the last row writes none.
const wordsBefore = () => Number(isCross(shownTensor()));

// Select a token's row, or its column where rows are of another text; without `keep` hover over it.
function pickToken(id, at, keep = false) {
    const { row_labels: rows, column_labels: columns } = shownTensor();
    const cell = { row: selectedRow(), column: at };
    const own = Math.max(0, at - wordsBefore());
    if (rows === WORD_BOXES[id]) (keep ? selectRow : (row) => hover({ row }))(own);
    else if (columns === WORD_BOXES[id]) (keep ? keepCell : hover)(cell);
}

function highlightChips(cell) {
    const { row_labels: rows, column_labels: columns } = shownTensor();
    for (const [id, kind] of Object.entries(WORD_BOXES)) {
        const place = rows === kind ? cell.row + wordsBefore()
            : columns === kind ? cell.column : -1;
        for (const chip of byId(id).children) {
            const here = Number(chip.dataset.at) === place;
            if ((chip.getAttribute('aria-pressed') === 'true') !== here || !chip.ariaPressed)
                chip.setAttribute('aria-pressed', here);
            if (here && !byId(id).matches(':hover')) reveal(byId('words'), chip);
        }
    }
}

// The chips with the same word as a predicted token.
function highlightWord(name) {
    for (const chip of byId('chips').children)
        chip.classList.toggle('same', name !== null && chip.firstChild.textContent === shown(name));
}

// The next token of a decoder, with the next token of a run that is compared, if it is another one.
function drawSaid() {
    const { nextTokens, masks, classes, labels } = current();
    const isSaid = nextTokens && !masks && !classes && !labels.source;
    setAside('says', !isSaid);
    if (!isSaid) return;
    const best = ({ nextTokens: next, opens: at }) => next.likeliest(at)[0];
    const [now, before] = [best(current()), pinned?.nextTokens && best(pinned)];
    const isOther = before && before.id !== now.id;
    const arrow = byId('text-line').dir === 'rtl' ? '← ' : '→ ';
    byId('says').replaceChildren(...[
        ...[arrow, element('b', element('bdi', shown(now.name)))],
        element('small', roundShare(now.share)),
        isOther && element('span', element('bdi', shown(before.name)), 'old'),
    ].filter(Boolean));
}

// Letters as large as one line allows; on phones, and if they would be too small, the text wraps.
function fitWords() {
    const box = byId('words');
    const lines = [...box.querySelectorAll('p:not([hidden])')];
    const [least, largest] = WORD_SIZES;
    const most = lines.length > 1 ? WORD_SIZE_OF_PAIR : largest;
    const isLong = byId('chips').children.length > WORDS_LARGE;
    box.classList.add('measured');
    const widths = lines.map((line) => line.getBoundingClientRect().width);
    box.classList.remove('measured');
    const fitting = (WORD_SIZE_MEASURED * (box.clientWidth - 16)) / Math.max(...widths, 1);
    const usual = phone.matches ? WORD_SIZE_ON_PHONE : clamp(Math.floor(fitting), least, most);
    const size = isLong ? WORD_SIZE_OF_MANY : usual;
    box.style.setProperty('--letters', `${size}px`);
    box.classList.toggle('wraps', size > fitting);
    box.classList.toggle('has-source', lines.length > 1);
}

// --- arcs --------------------------------------------------------------------------------------

// A share of the attention of a row; of a layer that keeps a state, of its largest number.
function shareOfCell(tensor, head, value) {
    if (!tensor.isMixer) return Math.abs(value) || 0;
    const most = once(tensor, `most ${head}`, () => {
        const { low, high } = extentOf(tensor.matrix(head));
        return Math.max(-low, high, 1e-9);
    });
    return Math.abs(value) / most || 0;
}

// The share of a cell before; NaN: none.
const shareBefore = (tensor, head, row, column) =>
    (showsChange() ? shareOfCell(tensor, head, weightBefore(tensor, head, row, column)) : NaN);

// The arrows of the findings, which are shown until a word or a head is selected.
function arrowsOfFindings() {
    const { findings = [], nextTokens } = current();
    const some = nextTokens || phone.matches ? findings.slice(0, 1) : findings;
    return some.flatMap((one, at) => {
        const found = headOfFinding(one);
        if (found?.tensor.kind !== state.kind) return [];
        const { query: row, key: column, weight: share } = one;
        return [{ ...found, row, column, share, isMain: !at, isNamed: true }];
    });
}

// The mean of all heads at a row, where no head picks out one word.
function arrowsOfMean(row) {
    const heads = headsOf(current(), state.kind);
    const sums = new Float64Array(shownTensor().keyCount);
    for (const { tensor, head } of heads)
        for (const column of sums.keys())
            sums[column] += (tensor.at(head, row, column) || 0) / heads.length;
    return [...sums]
        .map((share, column) => ({ row, column, share, isMain: share > 0.3, isMean: true }))
        .filter(({ share }) => share >= ARC_MEAN_LEAST);
}

// All arrows of the selected head from a row; of cross-attention from all rows.
function arrowsOfHead(row) {
    const [tensor, { head }] = [shownTensor(), state];
    const isAcross = isCross(tensor);
    const least = isAcross ? ARC_CROSS_LEAST : ARC_LEAST;
    const rows = isAcross ? [...Array(tensor.rowCount - 1).keys()] : [row];
    return rows.flatMap((from) => [...tensor.row(head, from).subarray(0, tensor.keyCount)]
        .map((value, column) => ({ value, share: shareOfCell(tensor, head, value), column }))
        .filter(({ share, column }) =>
            Math.max(share, shareBefore(tensor, head, from, column) || 0) >= least)
        .map((one) => ({ ...one, tensor, head, row: from, isMain: from === row })));
}

// Is the page as it opened, with nothing selected?
const isOpening = () => isOpened() && !hovered;

function arrowsNow(row) {
    const tensor = shownTensor();
    if (!tensor.isAttention && !tensor.isMixer) return [];
    if (isCross(tensor)) return arrowsOfHead(row);
    const [first] = current().findings || [];
    if (!isOpening() || showsChange() || !current().findings) return arrowsOfHead(row);
    return first ? arrowsOfFindings() : arrowsOfMean(row);
}

// The places of words in their box, measured once after they are drawn.
function placesOfWords(id) {
    const frame = byId('words').getBoundingClientRect();
    return [...byId(id).children].map((chip) => {
        const { left, right, top, bottom } = chip.getBoundingClientRect();
        const [x, up] = [(left + right) / 2 - frame.left, byId('words').scrollTop - frame.top];
        return { x, top: top + up, bottom: bottom + up };
    });
}

// The four points of the curve of an arc; and whether its number stands at it, else at its word.
function curveOf(from, to, { first, longest, apart, isAcross }) {
    const isOneLine = Math.abs(from.top - to.top) < 8;
    const upright = (a, b) => {
        const half = (a + b) / 2;
        return [[from.x, a], [from.x, half], [to.x, half], [to.x, b]];
    };
    if (isAcross) return { bends: upright(from.top, to.bottom), isNumbered: false };
    if (from === to) {
        const [x, y] = [from.x, from.top];
        const bends = [[x - 9, y], [x - 26, y - 40], [x + 26, y - 40], [x + 9, y]];
        return { bends, isNumbered: true };
    }
    if (!isOneLine) { // between lines of a text that wraps: from the nearer edges
        const isDown = to.top > from.top;
        const bends = isDown ? upright(from.bottom, to.top) : upright(from.top, to.bottom);
        return { bends, isNumbered: false };
    }
    const isFirst = Math.abs(from.top - first) < 8; // above a later line there is little room
    const room = isFirst ? Math.max(from.top - 26, 20) : 20;
    const high = clamp(16 + ((room - 16) * apart) / longest, Math.min(24, room), room);
    const y = from.top - 1.33 * high;
    return { bends: [[from.x, from.top], [from.x, y], [to.x, y], [to.x, to.top]],
        isNumbered: isFirst };
}

const pathOf = ([start, ...bends]) => `M${start}C${bends.join(' ')}`;

// Points along a curve, at most ARC_STEP pixels apart.
function pointsAlong(bends) {
    const wide = (one) => Math.hypot(one[0] - bends[0][0], one[1] - bends[0][1]);
    const count = 2 * Math.ceil(Math.max(...bends.map(wide), 30) / ARC_STEP);
    return Array.from({ length: count + 1 }, (_, at) => {
        const [t, u] = [at / count, 1 - at / count];
        const by = [u ** 3, 3 * u * u * t, 3 * u * t * t, t ** 3];
        return [0, 1].map((axis) => by.reduce((sum, one, k) => sum + one * bends[k][axis], 0));
    });
}

// Where an arc's number may stand: above or below the arc, the nearer to its middle the better, or
// at its end beside the word that it looks at; with the height of the arc there.
function placesOfNumber({ along, thick }, half) {
    const middle = (along.length - 1) / 2;
    const [x, y] = along.at(-1);
    const beside = thick + 6 + half;
    return [
        ...[0, 0.06, -0.06, 0.12, -0.12, 0.18, -0.18].flatMap((by) => {
            const [left, top] = along[Math.round(middle * (1 + 2 * by))];
            return [-4, 15, 20, 25].map((off) => [left, top + Math.sign(off) * thick + off, top]);
        }),
        [x - beside, y - 6, y], [x + beside, y - 6, y],
    ];
}

// The place of a number where it lies on no arc, no other number and no word, and where no arc is
// between it and its own, if need be without the number before; or null. The first number, which is
// the strongest, is always shown.
function placeOfNumber(one, { arcs, placed, width, floor }) {
    const isInside = ({ x, y, half }) =>
        y >= 11 && y <= floor - 5 && x >= half && x <= width - half;
    const isFree = ({ x, y, half, at }) => isInside({ x, y, half })
        && placed.every((other) =>
            Math.abs(other.x - x) >= half + other.half || Math.abs(other.y - y) >= 16)
        && arcs.every((arc) => arc.along.every(([left, top]) => {
            const from = arc === one ? y - 11 : Math.min(y - 11, at);
            return Math.abs(left - x) >= half + arc.thick
                || top < from - arc.thick || top > y + 2 + arc.thick;
        }));
    const places = [...new Set([one.before, ''])].flatMap((before) => {
        const half = textWidth(`${one.words} ${before}`, TEXT_SIZE) / 2 + 4;
        return placesOfNumber(one, half).map(([x, y, at]) => ({ x, y, at, half, before }));
    });
    return places.find(isFree) || (placed.length ? null : places[0]);
}

function arcWords({ tensor, head, value, share, isNamed, isMean }) {
    if (isMean) return say('all heads #', roundShare(share));
    const isNumber = tensor.isMixer && value !== undefined;
    const number = isNumber ? minus(value.toFixed(2)) : roundShare(share);
    return isNamed ? `${tensor.shownHead(head)} ${number}` : number;
}

// Draw the arcs of a row. Numbers that would lie on each other are left out, the strongest first.
function drawArcs(row) {
    const svg = byId('arcs');
    svg.replaceChildren();
    for (const chip of byId('chips').querySelectorAll('[data-share]')) delete chip.dataset.share;
    const arrows = byId('words').offsetParent ? arrowsNow(row) : [];
    if (!arrows.length) return;
    const tensor = shownTensor();
    const idOf = (labels) => (labels === 'source' ? 'source' : 'chips');
    const [fromId, toId] = [tensor.row_labels, tensor.column_labels].map(idOf);
    const isAcross = fromId !== toId;
    const froms = placesOfWords(fromId);
    const tos = fromId === toId ? froms : placesOfWords(toId);
    const apartOf = (one) => Math.abs(one.row - one.column);
    const longest = Math.max(1, ...arrows.map(apartOf));
    const width = byId('words').clientWidth;
    const arcs = [];
    for (const one of arrows) {
        const [from, to] = [froms[one.row + Number(isAcross)], tos[one.column]];
        if (!from || !to) continue;
        const facts = { first: froms[0].top, longest, apart: apartOf(one), isAcross };
        const { bends, isNumbered } = curveOf(from, to, facts);
        const d = pathOf(bends);
        const kind = one.isMain ? 'main' : '';
        const was = one.isMean ? NaN : shareBefore(one.tensor, one.head, one.row, one.column);
        const hasChanged = Math.abs(was - one.share) >= CHANGE_LEAST;
        const put = (share, name) =>
            svg.append(shape('path', { d, class: name, 'stroke-width': 1 + 7 * share }));
        if (hasChanged) put(was, 'before');
        if (one.share >= ARC_CUT) put(one.share, kind);
        if (!one.isMean && canCut(one.tensor)) {
            const arrow = arrowName(one.row, one.column, one.tensor);
            const hit = shape('path', { d, class: 'hit', 'data-arrow': arrow });
            hit.append(shape('title', {}, state.off.has(arrow) ? 'Restore this arrow'
                : 'Cut this arrow in all heads'));
            svg.append(hit);
        }
        const words = arcWords(one);
        const before = hasChanged ? say('was #', roundShare(was)) : '';
        if (!isNumbered && !isAcross && one.isMain) {
            const { dataset } = byId(toId).children[one.column];
            Object.assign(dataset, { share: words, side: from.top > to.top ? 'above' : 'below' });
        }
        const by = Number(one.isMain) + (one.share || was);
        const thick = (1 + 7 * Math.max(one.share, was || 0)) / 2;
        if (!isAcross) arcs.push({ along: pointsAlong(bends), thick, kind, words, before, by,
            isNumbered });
    }
    const placed = [];
    const floor = froms[0]?.top;
    const numbers = arcs.filter((one) => one.isNumbered).sort((a, b) => b.by - a.by);
    for (const one of numbers) {
        const place = placeOfNumber(one, { arcs, placed, width, floor });
        if (!place) continue;
        placed.push(place);
        const number = shape('text', { x: place.x, y: place.y, class: one.kind }, one.words);
        const { before } = place;
        if (before) number.append(shape('tspan', { class: 'was', dx: 6 }, before));
        svg.append(number);
    }
}
