// What Motion draws: all numbers of a query in a head, and of the stream around it.

const unitOf = (vector) => {
    const length = Math.hypot(...vector);
    return vector.map((value) => value / (length || 1));
};
const dotOf = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

// The maps whose queries travel: those of the selected tensor, else of the first attention.
function motionTensors(sentence = current()) {
    const travels = (kind) => sentence.of(kind).some((one) => one.isAttention || one.isMixer);
    const kinds = [state.kind, 'cross_weights', ...sentence.kinds].filter(
        (kind) => sentence.kinds.includes(kind) && /(weights|mix_map(_norm)?)$/.test(kind)
            && travels(kind),
    );
    if (kinds.length) return sentence.of(kinds[0]);
    return sentence.explainedTensors.filter((one) => one.isAttention && one.tensor === 'weights');
}

// A row of a tensor of the stream, by name and number of the layer; null if it is not in the page.
function streamRow(sentence, name, layer, row, head = 0) {
    const streams = sentence.streams || { tensors: [] };
    const isIt = (one) => one.tensor === name && one.layer === layer;
    const found = sentence.tensors.find(isIt) || streams.tensors.find(isIt);
    const at = found?.rowCount === 1 && streams.query >= 0 ? row - streams.query : row;
    return found?.rowCount > at && at >= 0 && head < found.shape[0] ? found.row(head, at) : null;
}

// The numbers of a head for a query: functions of a name and a row; null if the page lacks them.
function headRows(tensor, index, row) {
    const { sentence } = tensor;
    const head = tensor.heads ? tensor.heads[index] : null;
    const found = sentence.explainedHead(tensor, head, sentence.motionTensors);
    if (!found) return null;
    const query = sentence.journey?.query ?? -1;
    return (name, at) => {
        const { tensor: held, index: place, second } = found[name] || {};
        const ofQuery = at === row && held?.rowCount === 1 && query >= 0;
        if (!held || (ofQuery && row !== query)) return null;
        const first = held.row(place, ofQuery ? 0 : at);
        return second >= 0 ? Float32Array.of(...first, ...held.row(second, at)) : first;
    };
}

// The head that is followed in a layer: the selected one, or the one whose row is the most pointed,
// not at the first key or at the query itself. Those with numbers come first.
function followedHead(at, row) {
    const tensor = motionTensors()[at];
    const has = (head) => Boolean(tensor.isMixer || headRows(tensor, head, row)?.('q', row));
    const { at: layer, head } = motion.step || { at: state.layer, head: state.head };
    const chosen = at === layer ? head : motion.heads[at];
    if (at in motion.heads && chosen < tensor.shape[0]) return chosen;
    const key = [state.sentence, state.runs, tensor.tensor, at, row, chosen].join(' ');
    if (!motion.followed.has(key)) motion.followed.set(key, pointedHead(tensor, row, chosen, has));
    return motion.followed.get(key);
}

function pointedHead(tensor, row, chosen, has) {
    if (chosen < tensor.shape[0] && has(chosen)) return chosen;
    let best = { head: chosen < tensor.shape[0] ? chosen : 0, value: -1 };
    for (let head = 0; head < tensor.shape[0]; head++) {
        const list = tensor.row(head, row).subarray(0, tensor.keyCount);
        const values = list.filter((_, key) => key && key !== row);
        const value = Math.max(0, ...values.filter(Number.isFinite)) + Number(has(head));
        if (value > best.value) best = { head, value };
    }
    return best.head;
}

function keysOf(tensor, index, row, rows) {
    const why = tensor.sentence.attention;
    const weights = tensor.row(index, row);
    const [masked, scores, soft] = ['masked', 'scores', 'softmax'].map((name) => rows?.(name, row));
    const q = rows?.('q', row);
    const inputs = (vector) => (why.linear ? vector.map(phi) : vector);
    const scale = tensor.scale ?? 1;
    const bent = why.cap > 0 || why.alibi || why.temperature > 0 || why.linear;
    const isScaled = !bent && !why.renormalise; // masked scores are the scores times the scale
    const used = rows?.('difference', row) || weights;
    return Array.from({ length: tensor.keyCount }, (_, j) => {
        const [k, v] = ['k', 'v'].map((name) => rows?.(name, j));
        const zero = (why.linear || why.renormalise) && masked?.[j] === 0;
        const hidden = Number.isNaN(weights[j]) || masked?.[j] === -Infinity || zero;
        const given = scores?.[j] ?? (isScaled ? masked?.[j] / scale : NaN);
        const raw = Number.isFinite(given) ? given : q && k ? dotOf(inputs(q), inputs(k)) : NaN;
        const simple = hidden || why.linear || why.renormalise;
        const scaled = why.linear ? raw : simple ? raw * scale : (masked?.[j] ?? NaN);
        const weight = hidden ? 0 : weights[j];
        const by = hidden ? 0 : used[j];
        return { j, label: tensor.label('column', j), k, v, raw, scaled, hidden, weight, by, soft };
    });
}

// All numbers of a query in a head; kept until another one is asked for.
function journeyOf(at, row) {
    const tensor = motionTensors()[at];
    const index = followedHead(at, row);
    const { sentence, layer } = tensor;
    const key = [state.sentence, state.runs, tensor.tensor, at, index, row].join(' ');
    if (motion.key === key && motion.journey.tensor === tensor) return motion.journey;
    const ways = sentence.attention;
    const rows = tensor.isMixer ? null : headRows(tensor, index, row);
    const q = rows?.('q', row) || null;
    const prefix = tensor.isMixer ? '' : /^(enc\.|cross_)?/.exec(tensor.tensor)[0];
    tensor.scale = ways.scales[`${prefix}weights`]?.[layer];
    const keys = keysOf(tensor, index, row, q && rows);
    const soft = keys.filter((one) => !one.hidden || ways.renormalise);
    const most = Math.max(...soft.map((one) => one.scaled));
    for (const one of keys) one.power = 0;
    for (const one of soft) one.power = ways.linear ? one.scaled : Math.exp(one.scaled - most);
    const sink = tensor.keyCount < tensor.columnCount ? tensor.at(index, row, tensor.keyCount) : 0;
    const sum = soft.reduce((all, one) => all + one.power, 0) / (1 - sink);
    for (const one of keys) one.share = ways.renormalise ? one.power / sum : one.weight;
    const visible = keys.filter((one) => !one.hidden);
    const order = [...visible].sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    const isOwn = tensor.columns === 'key' && !isCross(tensor);
    const made = { sentence, tensor, at, index, layer, row, q, keys, sum, sink, order, prefix };
    Object.assign(made, { ways, name: tensor.shownHead(index), query: tensor.label('row', row) });
    made.own = isOwn && !tensor.isMixer ? keys[row] : null;
    made.x = xOf(made, row);
    made.xs = keys.map(({ j }) => (isOwn ? xOf(made, j) : null));
    made.queries = siblingQueries(made);
    if (q) addContext(made);
    made.steps = tensor.tensor.startsWith('enc.') ? [] : streamSteps(made);
    Object.assign(motion, { key, journey: made });
    return made;
}

// What a layer's queries, keys and values are made of.
function xOf({ sentence, layer, prefix }, row) {
    if (prefix === 'cross_') return streamRow(sentence, 'resid_mid', layer, row);
    const names = [`${prefix}ln_1`, `${prefix}resid_pre`, ...(layer ? [] : ['embedding'])];
    const posts = sentence.blocks?.[layer]?.some(({ sums }) => sums.includes('ln_1'));
    for (const name of names.slice(Number(Boolean(posts)))) {
        const found = streamRow(sentence, name, name === 'embedding' ? null : layer, row);
        if (found) return found;
    }
    return null;
}

// Other queries that meet the same keys.
function siblingQueries({ tensor, index, row, ways, q }) {
    const shared = (!tensor.isMixer && ways.queries_of_a_key[tensor.layer]) || 1;
    const first = index - (index % shared);
    return [...Array(shared).keys()]
        .map((i) => first + i)
        .filter((head) => q && head !== index && head < tensor.shape[0])
        .map((head) => ({ name: tensor.shownHead(head),
            q: headRows(tensor, head, row)?.('q', row) }));
}

function addContext(made) {
    const size = made.keys[0].v.length;
    const context = new Float64Array(size);
    for (const { v, by } of made.order)
        for (let i = 0; i < size; i++) context[i] += by * v[i];
    made.context = context;
}

// The values in the drawing of arrows, and the share of them that it shows; computed when needed.
function placeValues(made) {
    if (made.points) return;
    const { keys, own, context } = made;
    made.axes = axesOf(keys, own?.v, context);
    const length = (list) => list.reduce((all, value) => all + value * value, 0);
    made.points = keys.map(({ v }) => made.axes.map((axis) => dotOf(axis, v)));
    made.seen =
        made.points.reduce((all, point) => all + length(point), 0) /
        keys.reduce((all, { v }) => all + length(v), 0);
}

// Steps of the stream: what is before the layer, what each part adds, and the sums.
function streamSteps({ sentence, layer, row }) {
    const of = (name) => streamRow(sentence, name, layer, row);
    const before = of('resid_pre');
    if (!before) return [];
    const steps = [{ kind: 'before', values: before, lens: lensOf(sentence, layer, 'before') }];
    const tolerance = sentence.streams?.tensors[0].coding === 'short' ? 0.02 : 1e-4;
    let sum = before;
    for (const { kind, adds, sums, factor } of sentence.blocks[layer]) {
        const added = of(adds)?.map((value) => value * factor);
        if (!added) continue;
        const expected = Float32Array.from(sum, (value, i) => value + added[i]);
        steps.push({ kind, factor, normed: /post$/.test(adds), values: added });
        sum = expected;
        for (const [at, name] of sums.entries()) {
            const values = of(name);
            if (!values) continue;
            const error = Math.hypot(...values.map((value, i) => value - expected[i]));
            const isSum = error < tolerance * Math.hypot(...values);
            const lens = at === sums.length - 1 && lensOf(sentence, layer, kind);
            const made = isSum ? 'sum' : /ln_/.test(name) ? 'norm' : 'after';
            steps.push({ kind: made, of: kind, values, lens });
            sum = values;
        }
    }
    return steps;
}

// The step of the predictions that reads the stream there, or undefined.
function lensOf({ nextTokens }, layer, kind) {
    const steps = nextTokens?.layers || [];
    const name = kind === 'MLP' ? ['mlp', 'layer'] : [kind];
    if (kind !== 'before') return steps.find((one) => one.layer === layer
        && name.includes(one.step));
    if (!layer) return steps.find((one) => one.step === 'embedding');
    return steps.filter((one) => one.layer === layer - 1 && one.step !== 'embedding').at(-1);
}

// --- axes of the arrows ------------------------------------------------------------------------

// Vectors of three dimensions have their own axes. Others: across, what sets the query's own value
// apart from the context; up, the context; depth, the main direction of the rest. So the context
// and the own value have their true length, and sums stay sums.
function axesOf(keys, own, context) {
    const values = keys.map((one) => one.v);
    const size = context.length;
    if (size <= 3) return [0, 1, 2].map((at) => [...context].map((_, i) => Number(i === at)));
    const up = unitOf(context);
    const apart = (vector, axes) =>
        axes.reduce((rest, axis) => {
            const along = dotOf(rest, axis);
            return rest.map((value, i) => value - along * axis[i]);
        }, Float64Array.from(vector));
    const across = own && apart(own, [up]);
    if (own && Math.hypot(...across) > 1e-3 * Math.hypot(...own)) {
        const wide = unitOf(across).map((value) => -value);
        return [wide, up, mainAxis(values.map((one) => apart(one, [up, wide])))];
    }
    const wide = mainAxis(values.map((one) => apart(one, [up])));
    return [wide, up, mainAxis(values.map((one) => apart(one, [up, wide])))];
}

// The main direction of some vectors, by power iteration; zero if they are.
function mainAxis(vectors, least = 1e-9) {
    const size = Math.max(...vectors.map((one) => dotOf(one, one)), least);
    let axis = Float64Array.from(vectors[0], (_, i) => Math.sin(7 * i + 1));
    for (let turn = 0; turn < 60; turn++) {
        const next = new Float64Array(axis.length);
        for (const vector of vectors) {
            const along = dotOf(vector, axis);
            for (let i = 0; i < next.length; i++) next[i] += along * vector[i];
        }
        if (!(dotOf(next, next) > least * size * size)) return next.fill(0);
        axis = unitOf(next);
    }
    return axis;
}
