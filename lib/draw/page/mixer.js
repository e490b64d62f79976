// Layers that keep a state in place of keys and values: what their maps mean, in words and numbers.

const MEMORY_LISTED = 4; // tokens that the panel lists
const LATER_VERDICT = '# comes later: it has written nothing yet.';
// By how many tokens back they go at most.
const AGES = [
    ['own token', 0],
    ['one token back', 1],
    ['2 to 4 back', 4],
    ['further back', Infinity],
];

function ruleOf(tensor) {
    return tensor.sentence.mixer || {};
}

function layerWords(tensor, captions) {
    if (!captions) return `${tensor.layer}`;
    if (!tensor.isMixer) return `Layer ${tensor.layer}`;
    const convolves = ruleOf(tensor).rule === 'convolve';
    return `Layer ${tensor.layer}: ${convolves ? 'short convolution' : 'keeps a state'}`;
}

function mixerTitle(tensor, name) {
    return tensor.heads ? `${name} memory of a state` : `L${tensor.layer} memory of all channels`;
}

// What the matrix shows, for readers who know attention.
function mixerWords(tensor) {
    const { rule } = ruleOf(tensor);
    const state =
        'This layer has no softmax. Each token writes its value into a state, which fades; later ' +
        'tokens read from it. Row i, column j: how much of token j’s value the state still gives ' +
        'at token i. Rows do not sum to 1.';
    const convolution =
        'This layer is a short convolution: a token reads the last few tokens. Row i, column j: ' +
        'how much of token j’s value token i takes. There is no softmax; rows do not sum to 1.';
    const all =
        'Each channel is a head; this is the size of all together: √(sum of squares). For one ' +
        'channel: attn-cli run --show mix_map --head N.';
    const signs = 'A number may be negative: blue adds that value, orange subtracts it.';
    const words = [rule === 'convolve' ? convolution : state, tensor.heads ? signs : all];
    if (rule === 'delta')
        words.push('Delta rule: a token replaces, at its key, what earlier tokens wrote there.');
    return words.map((one) => say(one)).join(' ');
}

// The parts of a cell of a head: how strongly token j wrote, what fading leaves of that at token i,
// and how the query of i matches the key of j; `change` is what tokens in between replaced.
function memoryOf(tensor, index, { row, column }) {
    const head = tensor.heads?.[index];
    const parts = head === undefined ? null : tensor.sentence.explainedHead(tensor, head);
    if (!parts || column > row) return null;
    const of = (name, at) => parts[name].tensor.row(parts[name].index, at);
    const [q, k] = [of('q', row), of('k', column)];
    const kept = q.map(() => 1);
    for (let at = column + 1; at <= row; at++) {
        const decay = of('decay', at);
        kept.forEach((value, i) => (kept[i] = value * decay[decay.length > 1 ? i : 0]));
    }
    const strength = of('step', column)[0];
    const match = q.reduce((sum, value, i) => sum + value * k[i], 0);
    const faded = q.reduce((sum, value, i) => sum + value * kept[i] * k[i], 0);
    const plain = strength * faded;
    const share = match ? faded / match : kept[0];
    return { strength, share, match, plain, rest: of('map', row)[column] - plain };
}

function memoryText(tensor, index, cell) {
    const parts = memoryOf(tensor, index, cell);
    if (!parts) return '';
    const { strength, share, match } = parts;
    const words = ' · written # × left # × match #';
    return say(words, ...[strength, share, match].map((one) => minus(one.toFixed(2))));
}

// The shares of |map| by distance, mean over all tokens but the first, and of negative cells.
function drawMemory(box, tensor) {
    const sums = AGES.map(() => 0);
    let negative = 0;
    const rows = Math.max(1, tensor.rowCount - 1);
    for (let row = Math.min(1, tensor.rowCount - 1); row < tensor.rowCount; row++) {
        const cells = [...tensor.row(state.head, row)].slice(0, row + 1);
        const all = cells.reduce((sum, value) => sum + Math.abs(value), 0) || 1;
        cells.forEach((value, key) => {
            const age = AGES.findIndex(([, most]) => row - key <= most);
            sums[age] += Math.abs(value) / all / rows;
            if (value < 0) negative -= value / all / rows;
        });
    }
    const name = tensor.shownHead(state.head) || `L${tensor.layer}`;
    byId('profile-title').textContent = `${name} on this text`;
    byId('profile-note').textContent = 'where what a token reads was written, by size';
    const put = (words, value) => {
        const line = element('div', '', 'bar');
        line.append(element('span', words), meter(value), element('b', meanText(value)));
        return line;
    };
    const bars = AGES.map(([words], at) => put(words, sums[at]));
    if (tensor.heads) bars.push(put('of it negative', negative));
    byId('profile-rows').replaceChildren(...bars);
    drawScores(box, tensor);
}

// The panel of a cell.
function drawMemoryPanel(panel, tensor) {
    const { row, column } = state.kept;
    const [reader, writer] = [tensor.label('row', row), tensor.label('column', column)];
    const value = tensor.at(state.head, row, column);
    const add = (text, name, className) => panel.append(element(name, text, className));
    const line = element('p', '', 'why-head');
    const words = element('span', `${tensor.shownHead(state.head) || `L${tensor.layer}`} · `);
    words.append(element('b', reader), ` ${row} ← `, element('b', writer), ` ${column}`);
    const close = buttonFor(closeWhy, '', 'close');
    close.append(element('span', 'Close', 'hidden'), element('kbd', 'Esc'), icon('close'));
    line.append(words, close);
    panel.append(line);
    if (Number.isNaN(value))
        return add(say(LATER_VERDICT, quoted(writer)), 'h2', 'verdict');
    const size = minus(value.toFixed(2));
    const verdict = tensor.heads
        ? 'At #, the state gives # times the value that # wrote.'
        : 'At #, all channels together give # (a size) of what # wrote.';
    const names = [quoted(reader), size, quoted(writer)];
    add(say(verdict, ...names), 'h2', 'verdict');
    if (value < 0) add(say('Negative: that value is subtracted from what this token reads.'), 'p');
    const parts = memoryOf(tensor, state.head, state.kept);
    const step = (name, number) => {
        const one = element('p', '', 'sum');
        one.dataset.number = number;
        one.append(element('span', say(name)), ' ', element('b', minus(number.toFixed(3))));
        panel.append(one);
    };
    if (parts) {
        step('written: how strongly this token wrote', parts.strength);
        step('left: what fading since then leaves of it', parts.share);
        step('match: query of the reader · key of the writer', parts.match);
        step('the product of the three', parts.plain);
        const delta = ruleOf(tensor).rule === 'delta';
        if (!delta && row === column) step('read directly, past the state', parts.rest);
        if (delta && row > column) step('changed by what tokens since then replaced', parts.rest);
        step('mix_map', value);
    }
    add(say('What # reads, by size', quoted(reader)), 'h3');
    const cells = [...tensor.row(state.head, row)].slice(0, row + 1);
    const order = [...cells.keys()].sort((a, b) => Math.abs(cells[b]) - Math.abs(cells[a]));
    const most = Math.abs(cells[order[0]]) || 1;
    const large = order.filter((key) => Math.abs(cells[key]) >= NUMBER_LEAST * most);
    for (const key of large.slice(0, MEMORY_LISTED)) {
        const bar = element('div', '', 'bar');
        const name = element('span', '', 'name');
        name.append(element(key === column ? 'b' : 'span', tensor.label('column', key)), ` ${key}`);
        const sized = tensor.heads ? signedText(cells[key], 2) : cells[key].toFixed(2);
        const text = element('span', sized, 'value');
        bar.append(name, meter(cells[key] / most, { signed: Boolean(tensor.heads) }), text);
        panel.append(bar);
    }
}
