// Before and now: the weights before a switch, of another text, of another model or of the pin, at
// the cells of the matrix that is shown.

const CHANGE_LEAST = 0.05; // of a weight that is marked
let matchedWords = { from: null, to: null, find: null };

// A function from a place in `to` to the place of the same word in `from`; -1: there is none. Lists
// of one length are matched by place, others from both ends.
function sameWords(from, to) {
    if (matchedWords.from === from && matchedWords.to === to) return matchedWords.find;
    const [most, by] = [Math.min(from.length, to.length), to.length - from.length];
    let [head, tail] = [0, 0];
    while (head < most && from[head] === to[head]) head += 1;
    while (tail < most - head && from.at(-1 - tail) === to.at(-1 - tail)) tail += 1;
    const find = (at) => {
        if (at < head || !by) return at;
        return at >= to.length - tail ? at - by : -1;
    };
    matchedWords = { from, to, find };
    return find;
}

// The place of a row or column of a tensor in a tensor before it, or -1.
function placeBefore(axis, tensor, other, at) {
    const [from, to] = [other.labels(axis), tensor.labels(axis)];
    const place = from && to ? sameWords(from, to)(at) : at;
    return place < other[`${axis}Count`] ? place : -1;
}

// The number before, where the same words are; a weight that was masked is NaN, and undefined: the
// cell has no other number.
function numberBefore(tensor, head, row, column) {
    const other = pinnedTensor(tensor);
    if (!other || head >= other.shape[0]) return undefined;
    const [from, key] = [placeBefore('row', tensor, other, row),
        placeBefore('column', tensor, other, column)];
    return from < 0 || key < 0 ? undefined : other.at(head, from, key);
}

// The same as a weight: 0 where it was masked, so that the change shows; NaN: none.
function weightBefore(tensor, head, row, column) {
    const before = numberBefore(tensor, head, row, column);
    return before === undefined ? NaN : before || 0;
}

// The change of a number since the pin; NaN: it has none, or both are masked.
function changeSincePin(tensor, head, row, column) {
    const before = numberBefore(tensor, head, row, column);
    return before === undefined ? NaN : changeOf(tensor, tensor.at(head, row, column), before);
}

// Half of the sum of the changes of a head's weights, as the mean over queries.
function distanceSincePin(tensor, head) {
    let sum = 0;
    for (let row = 0; row < tensor.rowCount; row++)
        for (let column = 0; column < tensor.columnCount; column++)
            sum += Math.abs(changeSincePin(tensor, head, row, column)) || 0;
    return sum / 2 / tensor.rowCount;
}

// Can heads be compared with the pin: are they of tensors that hold the same?
const hasBefore = (tensor) => Boolean(pinnedTensor(tensor));

// How the matrix shows changes: the weight before, and whether it was masked; null: it shows none.
function changesOfMatrix(tensor, head) {
    if (!showsChange() || !(tensor.isAttention || tensor.isMixer)) return null;
    return (row, column) => {
        const before = numberBefore(tensor, head, row, column);
        const by = before === undefined ? 0
            : changeOf(tensor, tensor.at(head, row, column), before);
        return { by: by || 0, wasMasked: Number.isNaN(before) };
    };
}

// --- in words ----------------------------------------------------------------------------------

// The weight that changes most since the pin: of a row, or of all; null: none does.
function largestChange(only) {
    let most = null;
    for (const { tensor, layer, head, name, switchName } of headsOf(current(), state.kind)) {
        if (state.off.has(switchName) || !hasBefore(tensor)) continue;
        for (let row = only ?? 0; row < (only === null ? tensor.rowCount : only + 1); row++)
            for (let column = 0; column < tensor.columnCount; column++) {
                const by = changeSincePin(tensor, head, row, column);
                if (Math.abs(by) > Math.abs(most?.by ?? 0))
                    most = { tensor, layer, head, name, by, row, column };
            }
    }
    return most;
}

// The entropy of the weights of a row in bits, as the mean over all heads and all rows but the
// first; NaN: there are no weights.
function bitsOfRows(sentence) {
    let [sum, rows] = [0, 0];
    for (const { tensor, head } of headsOf(sentence, state.kind)) {
        if (!tensor.isAttention) return NaN;
        for (let row = 1; row < tensor.rowCount; row++, rows++)
            for (const weight of tensor.row(head, row))
                if (weight > 0) sum -= weight * Math.log2(weight);
    }
    return sum / rows;
}

// "the prediction changes: “are” > 99.9 % → “is” 99.9 %"
function predictionChange() {
    const isSame = isCross(shownTensor()) && pinned.text === current().text;
    const row = isSame ? selectedRow() : null; // of a translation each word is predicted
    const bestOf = ({ nextTokens, opens }) => nextTokens?.likeliest(row ?? opens)[0];
    const [was, is] = [pinned, current()].map(bestOf);
    if (!was?.name || !is?.name) return null;
    if (was.id !== is.id)
        return say('the prediction changes: # # → # #', quoted(shown(was.name)),
            roundShare(was.share), quoted(shown(is.name)), roundShare(is.share));
    const shares = [was, is].map(({ share }) => roundShare(share));
    if (shares[0] === shares[1])
        return say('the prediction stays #: #', quoted(shown(is.name)), shares[0]);
    return say('the prediction stays #: # → #', quoted(shown(is.name)), ...shares);
}

function sharpnessChange() {
    const [was, is] = [pinned, current()].map(bitsOfRows);
    if (!(Math.abs(was - is) >= 0.02)) return null;
    return say(is < was ? 'rows are sharper: # → # bits' : 'rows are flatter: # → # bits',
        was.toFixed(2), is.toFixed(2));
}

// "“it” → “chicken” 99.5 % → 5 % in L1H0": the arrow of the first finding; null: it is the same.
function arrowChange({ tensor, head, layer, name, row, column }) {
    const [was, is] = [weightBefore(tensor, head, row, column), tensor.at(head, row, column)]
        .map((value) => shareOfCell(tensor, head, value));
    if (Math.abs(was - is) < 5e-4 || !hasBefore(tensor)) return null;
    return phrase('# → # # → # in #',
        ...[['row', row], ['column', column]].map(([axis, at]) => quoted(tensor.label(axis, at))),
        roundShare(was), roundShare(is), headName({ layer, head, name }, { row, kept: null }));
}

// What changed since the pin, as a list of parts.
function effectParts() {
    const [first] = current().findings || [];
    const found = first && { ...headOfFinding(first), row: first.query, column: first.key };
    const arrow = found?.tensor && arrowChange(found);
    const top = largestChange(null);
    const place = ({ name, row, column }) => `${name} ${row} ${column}`;
    const isArrow = arrow && top && place(top) === place(found);
    const most = isArrow ? null : top;
    const wordOfMost = (axis) => quoted(most.tensor.label(axis, most[axis]));
    const change = most && phrase('largest change: # → # # in #',
        wordOfMost('row'), wordOfMost('column'),
        signedText(most.by, 2).replace('0.', '.'), headName(most, { row: most.row, kept: null }));
    const isSameText = pinned.text === current().text && pinned.model === current().model;
    const parts = [[predictionChange()], arrow, change, isSameText && [sharpnessChange()]];
    const known = parts.filter((part) => part?.[0]);
    return known.length ? known.flatMap((part, at) => (at ? [' · ', ...part] : part))
        : [say('nothing changes')];
}

// What to type where a masked model has nothing to predict.
function maskHint() {
    const { masks, classes, labels } = current();
    if (classes || masks?.length !== 0) return '';
    const mask = labels.sentence[0] === '<s>' ? '<mask>' : '[MASK]';
    return say('Write # in place of a word, and the model predicts the word.', mask);
}

function drawEffect(cell = currentCell()) {
    const box = byId('effect');
    const isHeld = holdsEffects() && !pinned;
    const hint = canCut()
        ? 'Switch something off, or click an arc to cut it: what changes is shown here.'
        : 'Switch something off: what changes is shown here.';
    box.hidden = !pinned && !live.engine && !isHeld;
    const held = isHeld ? heldEffect(cell) : [];
    box.classList.toggle('quiet', !pinned && held.length < 2);
    if (isHeld) return box.replaceChildren(...held.filter(Boolean));
    if (!pinned)
        return box.replaceChildren([say(hint), maskHint()].join(isChinese() ? '' : ' '));
    const title = comparesTexts() ? 'A → B' : say('Before → now');
    return box.replaceChildren(element('b', title), ' ', ...effectParts());
}
