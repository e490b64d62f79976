// Layers that keep a state in place of keys and values: what their maps mean, in words and numbers.

const MEMORY_LISTED = 4; // tokens that the panel lists
const HELD_LISTED = 8; // and those of which it says what the state holds
const LATER_VERDICT = '# comes later: it has written nothing yet.';
// By how many tokens back they go at most.
const AGES = [
    ['the token itself', 0],
    ['one token back', 1],
    ['2 to 4 back', 4],
    ['further back', Infinity],
];

function ruleOf(tensor) {
    return tensor.sentence.mixer || {};
}

function layerWords(tensor, captions) {
    if (!captions) return `${tensor.layer}`;
    const attends = tensor.sentence.mixer ? ': attention' : '';
    if (!tensor.isMixer) return `Layer ${tensor.layer}${attends}`;
    const convolves = ruleOf(tensor).rule === 'convolve';
    return `Layer ${tensor.layer}: ${convolves ? 'short convolution' : 'keeps a state'}`;
}

function mixerTitle(tensor, name) {
    return tensor.heads ? `${name} memory of a state` : `L${tensor.layer} memory of all channels`;
}

// Under a thumbnail: how much of the state is kept from token to token.
function mixerRole(tensor, index) {
    const kept = keptOf(tensor, index);
    return kept === null ? 'mixer' : say('keeps #', `${Math.round(100 * kept)}\u202f%`);
}

// What the matrix shows, for readers who know attention.
function mixerWords(tensor) {
    const { rule } = ruleOf(tensor);
    if (!tensor.isMixer) return '';
    const state =
        'No softmax: each token writes its value into a state, which fades, and later tokens ' +
        'read it. Row i, column j: how much of the value of j token i reads.';
    const convolution =
        'A short convolution, without softmax: a token reads the last few tokens. Row i, column ' +
        'j: how much of the value of j token i reads. Rows do not sum to 1.';
    const all =
        'Each channel is a head; this is the size of all together: √(sum of squares). For one ' +
        'channel: attn-cli run --show mix_map --head N.';
    const signs =
        'Unlike weights of attention, numbers may be negative (blue adds the value, orange ' +
        'subtracts it), and rows do not sum to 1.';
    const words = [rule === 'convolve' ? convolution : state, tensor.heads ? signs : all];
    if (rule === 'delta')
        words.push(
            'Delta rule: a token replaces what the state holds at its key. In an empty cell the ' +
                'value was replaced, or the query does not match its key: open the cell.',
        );
    return words.map((one) => say(one)).join(' ');
}

// What fading leaves after token `at` of one component of a key.
function fadedBy(of, at, i) {
    const decay = of('decay', at);
    return decay[decay.length > 1 ? i : 0];
}

// The mean share of the state that a token leaves, by fading alone; null if unknown.
function keptOf(tensor, index) {
    const of = tensor.sentence.rowsOfHead(tensor, index);
    if (!of) return null;
    let sum = 0;
    for (let at = 0; at < tensor.rowCount; at++)
        sum += of('decay', at).reduce((all, value, _, { length }) => all + value / length, 0);
    return sum / tensor.rowCount;
}

// The state is a sum of u vᵀ, with the values v of all tokens. This is u of token j after token i:
// its key, as strongly as it wrote. It fades, and in a delta rule loses what later tokens replace:
// `replaced` gets each such token, and the part of u that it took away.
function heldOf(tensor, of, { row, column }, replaced = () => {}) {
    const strength = of('step', column)[0];
    const held = Float64Array.from(of('k', column), (value) => strength * value);
    for (let at = column + 1; at <= row; at++) {
        held.forEach((value, i) => (held[i] = value * fadedBy(of, at, i)));
        if (ruleOf(tensor).rule !== 'delta') continue;
        const key = of('k', at);
        const taken = of('step', at)[0] * dotOf(held, key);
        held.forEach((value, i) => (held[i] = value - taken * key[i]));
        replaced(at, taken);
    }
    return held;
}

// The parts of a cell of a head: how strongly token j wrote, what fading leaves of that at token i,
// and how the query of i matches the key of j; `changes` are those by tokens that replaced it.
function memoryOf(tensor, index, { row, column }) {
    const of = tensor.sentence.rowsOfHead(tensor, index);
    if (!of || column > row) return null;
    const [q, k] = [of('q', row), of('k', column)];
    const fading = []; // from each token to the reader
    let kept = Float64Array.from(q, () => 1);
    for (let at = row; at >= column; at--) {
        fading[at] = kept;
        kept = kept.map((value, i) => value * fadedBy(of, at, i));
    }
    const read = (at) => dotOf(q, fading[at].map((value, i) => value * of('k', at)[i]));
    const strength = of('step', column)[0];
    const match = dotOf(q, k);
    const plain = strength * read(column);
    const changes = [];
    heldOf(tensor, of, { row, column }, (at, taken) =>
        changes.push({ at, value: -taken * read(at) }),
    );
    changes.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    return {
        ...{ strength, match, plain, changes, rest: of('map', row)[column] - plain },
        share: match ? read(column) / match : fading[column][0],
        cosine: match / (Math.hypot(...q) * Math.hypot(...k)) || 0,
    };
}

function memoryText(tensor, index, cell) {
    const parts = memoryOf(tensor, index, cell);
    if (!parts) return '';
    const { strength, share, match, rest } = parts;
    const words = ' · written # × left # × match #';
    const text = say(words, ...[strength, share, match].map((one) => minus(one.toFixed(2))));
    if (Math.abs(rest) < NUMBER_LEAST) return text;
    const direct = ruleOf(tensor).rule !== 'delta';
    const more = direct ? ', read directly #' : ', replaced since #';
    return text + say(more, signedText(rest, 2));
}

function placeOfMemory({ row, column }) {
    return say('token # reads, token # wrote', row, column);
}

// The shares of |map| by distance, mean over all tokens but the first, and of negative cells.
function drawMemory(tensor) {
    const sums = AGES.map(() => 0);
    let negative = 0;
    const count = Math.max(1, tensor.rowCount - 1);
    for (let row = Math.min(1, tensor.rowCount - 1); row < tensor.rowCount; row++) {
        const cells = [...tensor.row(state.head, row)].slice(0, row + 1);
        const all = cells.reduce((sum, value) => sum + Math.abs(value), 0) || 1;
        cells.forEach((value, key) => {
            const age = AGES.findIndex(([, most]) => row - key <= most);
            sums[age] += Math.abs(value) / all / count;
            if (value < 0) negative -= value / all / count;
        });
    }
    const name = tensor.shownHead(state.head) || `L${tensor.layer}`;
    byId('memory-title').textContent = `${name} on this text`;
    const rows = AGES.map(([words], at) => [words, sums[at]]);
    if (tensor.heads) rows.push(['negative', negative]);
    const kept = keptOf(tensor, state.head);
    if (kept !== null) rows.push(['kept per token', kept]);
    byId('memory-rows').replaceChildren(...rows.map(([words, value]) =>
        whyBar(words, value, meanText(value))));
}

// The panel of a cell.
function drawMemoryPanel(panel, tensor) {
    const { row, column } = state.kept;
    const [reader, writer] = [tensor.label('row', row), tensor.label('column', column)];
    const value = tensor.at(state.head, row, column);
    const add = (...facts) => panel.append(element(...facts));
    putWhyHead(panel, `${tensor.shownHead(state.head) || `L${tensor.layer}`} · `,
        element('b', reader), ` ${row} ← `, element('b', writer), ` ${column}`);
    if (Number.isNaN(value)) return add('h2', say(LATER_VERDICT, quoted(writer)), 'verdict');
    const size = minus(value.toFixed(2));
    const verdict = tensor.heads
        ? 'At #, the state gives # times the value that # wrote.'
        : 'At #, all channels together give # (a size) of what # wrote.';
    const names = [`${quoted(reader)} ${row}`, size, `${quoted(writer)} ${column}`];
    add('h2', say(verdict, ...names), 'verdict');
    if (value < 0) add('p', say('Negative: that value is subtracted from what this token reads.'));
    const parts = memoryOf(tensor, state.head, state.kept);
    if (parts) drawParts(panel, tensor, parts, { names, value });
    const bars = (title, note, list, { signed = Boolean(tensor.heads) } = {}) => {
        const most = Math.max(...list.map((one) => Math.abs(one.value))) || 1;
        add('h3', title);
        if (note) add('p', say(note), 'quiet');
        for (const { at, value: number } of list) {
            const strong = at === column ? 'b' : 'span';
            const label = [element(strong, tensor.label('column', at)), ` ${at}`];
            const text = signed ? signedText(number, 2) : number.toFixed(2);
            panel.append(whyBar(label, number / most, text, { signed }));
        }
    };
    const largest = (list, count) => {
        const sorted = [...list].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
        const least = NUMBER_LEAST * Math.abs(sorted[0]?.value);
        return sorted.slice(0, count).filter((one) => Math.abs(one.value) >= least);
    };
    const cells = [...tensor.row(state.head, row)].slice(0, row + 1)
        .map((number, at) => ({ at, value: number }));
    bars(say('What # reads, by size', names[0]), '', largest(cells, MEMORY_LISTED));
    const of = tensor.sentence.rowsOfHead(tensor, state.head);
    if (!of) return;
    const sizes = cells.map(({ at }) =>
        ({ at, value: Math.hypot(...heldOf(tensor, of, { row, column: at })) }));
    const shown = new Set([...largest(sizes, HELD_LISTED).map((one) => one.at), column]);
    const held = sizes.filter((one) => shown.has(one.at));
    const note = 'how strongly it holds the value of each token, also of those not read here';
    bars(say('What the state holds after #', names[0]), note, held, { signed: false });
}

// The number of a cell, from its parts.
function drawParts(panel, tensor, parts, { names: [reader, , writer], value }) {
    const delta = ruleOf(tensor).rule === 'delta';
    const { row, column } = state.kept;
    const [first] = parts.changes;
    const took = first && first.value * parts.plain < 0 && -first.value / parts.plain;
    if (took >= 0.5) {
        const words = 'Since then # replaced it: it wrote at a key like that of #.';
        const name = `${quoted(tensor.label('column', first.at))} ${first.at}`;
        panel.append(element('p', say(words, name, writer), 'lead'));
    }
    const put = (className, name, text, marks) =>
        panel.append(element('p', [element('span', name), ' ', text], className, marks));
    const step = (name, number) => put('sum part', name,
        element('b', minus(number.toFixed(3))), { 'data-number': number });
    step(say('written: how strongly # wrote', writer), parts.strength);
    step(say('left: what fading since then leaves'), parts.share);
    const cosine = minus(parts.cosine.toFixed(2));
    step(say('match: query of # · key of # (cosine #)', reader, writer, cosine), parts.match);
    step(say('written × left × match'), parts.plain);
    if (!delta && row === column) step(say('read directly, past the state'), parts.rest);
    if (delta && row > column) step(say('replaced since by other tokens'), parts.rest);
    for (const { at, value: change } of parts.changes.slice(0, MEMORY_LISTED)) {
        const name = say('by #', `${isolated(tensor.label('column', at))} ${at}`);
        if (Math.abs(change) >= NUMBER_LEAST)
            put('part by', name, element('span', signedText(change, 3)));
    }
    step(say('together: the cell of mix_map'), value);
}
