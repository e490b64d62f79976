// The roles of heads on a text, measured from their weights.

// The rule of the command `heads`: a role needs this mean weight, and so many times the weight of
// uniform attention.
const { items: ROLES, least: ROLE_LEAST, times: ROLE_TIMES } = sentences[0].roles;

// For each token, the positions of the same word before it.
function repeatsOf(words) {
    const last = new Map();
    return words.map((word, at) => {
        const before = last.get(word) || [];
        last.set(word, [...before, at]);
        return before;
    });
}

// The keys that a role attends to, by role and query; null if there are none.
const targetsOf = (tensor) => once(tensor, 'targets', () => findTargets(tensor));

function findTargets(tensor) {
    const words = (tensor.labels('row') || []).map(shown);
    const before = repeatsOf(words);
    const each = (keys) =>
        words.map((_, query) => {
            const found = query ? keys(query) : [];
            return found.length ? found : null;
        });
    const added = tensor.sentence.added_after[Number(tensor.row_labels === 'source')];
    const ahead = words.length > 1 && !Number.isNaN(tensor.at(0, 0, 1));
    const ends = words.flatMap((word, at) => (added && word === words.at(-1) ? [at] : []));
    return {
        'previous-token': each((query) => [query - 1]),
        'first-token': each(() => [0]),
        self: each((query) => [query]),
        'duplicate-token': each((query) => before[query]),
        'next-token': each((at) => (ahead && at + 1 < words.length ? [at + 1] : [])),
        separator: each(() => ends),
        induction: each((query) => before[query].map((at) => at + 1).filter((at) => at <= query)),
    };
}

// The mean weight on each role's keys, and the same of attention that is uniform over visible keys.
const profileOf = (tensor, index) =>
    once(tensor, `profile ${index}`, () => makeProfile(tensor, index));

function makeProfile(tensor, index) {
    const targets = targetsOf(tensor);
    const rows = Array.from({ length: tensor.rowCount }, (_, at) =>
        tensor.row(index, at).subarray(0, tensor.keyCount),
    );
    const counts = rows.map((row) => row.filter((value) => !Number.isNaN(value)).length || 1);
    const isPossible = ({ score }) =>
        !/next|separator/.test(score) || targets[score].some(Boolean);
    return ROLES.filter(isPossible).map((role) => {
        let [sum, even, count] = [0, 0, 0];
        targets[role.score].forEach((keys, query) => {
            if (!keys) return;
            for (const key of keys) sum += rows[query][key] || 0;
            even += keys.length / counts[query];
            count += 1;
        });
        return { ...role, value: count ? sum / count : NaN, even: count ? even / count : NaN };
    });
}

// Only heads with self-attention have roles.
function hasRoles(tensor) {
    const { rowCount, keyCount, row_labels: rows, column_labels: columns } = tensor;
    const toItself = rowCount === keyCount && [rows, 'with_sink'].includes(columns);
    return tensor.isAttention && toItself && tensor.heads;
}

// Attention from a text to its source.
function isCross(tensor) {
    const { row_labels: rows, column_labels: columns } = tensor;
    return tensor.isAttention && columns === 'source' && rows !== 'source';
}

function isStrong({ value, even }) {
    return value >= ROLE_LEAST && value >= ROLE_TIMES * even;
}

// The role of a head: the largest of the roles that reach the threshold; null: none.
function roleOf(tensor, index) {
    if (!hasRoles(tensor)) return null;
    const found = profileOf(tensor, index).filter(isStrong);
    return found.sort((a, b) => b.value - a.value)[0] || null;
}

// Does a row of a head put most of its weight on the keys of a role?
function fitsRole(tensor, index, row, role) {
    const keys = targetsOf(tensor)[role.score][row] || [];
    const weights = tensor.row(index, row);
    return keys.reduce((sum, key) => sum + weights[key], 0) >= ROLE_LEAST;
}

// All heads of a sentence's tensors of a kind: { tensor, layer, head, name, switchName }.
function headsOf(sentence, kind) {
    return sentence.of(kind).flatMap((tensor, layer) => {
        return Array.from({ length: tensor.shape[0] }, (_, head) => ({
            ...{ tensor, layer, head },
            ...{ name: tensor.headName(head), switchName: tensor.switchName(head) },
        }));
    });
}

// The change of a number of a tensor; NaN if both are masked. A weight that is masked in one run
// alone is 0 there.
function changeOf(tensor, now, before) {
    if (now === before) return 0;
    const isSeen = Number.isNaN(now) !== Number.isNaN(before);
    const isWeight = tensor.isAttention || tensor.isMixer;
    return isSeen && isWeight ? (now || 0) - (before || 0) : now - before;
}

function sameShape(one, other) {
    return Boolean(one && other && one.shape.join() === other.shape.join());
}

// The change of a head since the pin, as a tensor of one head with the labels of both.
function differenceOf(now, before, head) {
    const spec = { ...now, shape: [1, now.rowCount, now.columnCount], coding: 'exact' };
    for (const list of ['heads', 'kv_heads']) spec[list] &&= [spec[list][head]];
    const difference = new Tensor(spec, now.sentence);
    const across = now.columnCount;
    difference.unpacked = () => now.matrix(head).map((_, i) =>
        changeSincePin(now, head, Math.floor(i / across), i % across));
    difference.isDifference = true;
    const joined = (...names) => (names[0] === names[1] ? names[0] : names.map(isolated).join('/'));
    const both = (axis, at, word) => {
        const place = placeBefore(axis, now, before, at);
        return place < 0 ? word(now, at) : joined(word(before, place), word(now, at));
    };
    difference.label = (axis, at) => both(axis, at, (one, place) => one.label(axis, place));
    difference.labels = (axis) => now.labels(axis)?.map((_, at) =>
        both(axis, at, (one, place) => one.labels(axis)[place])) ?? null;
    return difference;
}
