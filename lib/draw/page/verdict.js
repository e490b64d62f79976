// What the explanation of a cell comes to: how large its share is, what speaks for it most, and
// which other heads look there.

const VERDICT_LISTED = 3;

// "76.32 % of the attention, most of 5 keys that are seen; next is …"
function shareWords(why, keys) {
    const weights = [...why.of('weights', why.row)].map((weight, key) => ({ weight, key }));
    const seen = why.softmax().filter((one) => Number.isFinite(one.masked)).length;
    const sorted = weights.sort((a, b) => b.weight - a.weight);
    const rank = 1 + sorted.findIndex((one) => one.key === why.key);
    const name = (one) => `${quoted(keys.label('column', one.key))}, ${percent(one.weight)}`;
    const place = rank === 1 ? 'most' : `rank ${rank}`;
    const other = rank === 1 ? sorted[1] : sorted[0];
    const others = seen > 1 ? `; ${rank === 1 ? 'next is' : 'most gets'} ${name(other)}` : '';
    const share = `${percent(why.weight)} of the attention`;
    return `${share}, ${place} of ${seen} keys that are seen${others}.`;
}

// The dims of query and key whose products are largest.
function dimWords(why) {
    const products = [...why.products()].map((value, dim) => ({ value, dim }));
    const best = products.sort((a, b) => b.value - a.value).slice(0, VERDICT_LISTED);
    const words = best.map((one) => `dim ${one.dim} (${exact(one.value)})`).join(', ');
    return `Most for it, of the score ${exact(why.score)}, speaks ${words}.`;
}

// The heads of all layers that look most from this query at this key, as buttons that go there.
function headsThatLook(why, keys) {
    const tensors = why.tensor.sentence.of(keys.tensor);
    const cells = tensors.flatMap((one, layer) =>
        [...Array(one.shape[0]).keys()].map((head) => ({
            ...{ layer, head, tensor: one },
            value: one.at(head, why.row, why.key),
        })),
    );
    if (cells.length < 2) return null;
    const line = element('p', 'Heads that look there most: ', 'choices looking');
    cells.sort((a, b) => b.value - a.value);
    for (const { layer, head, tensor: one, value } of cells.slice(0, VERDICT_LISTED)) {
        const role = headRole(one, head);
        const name = `${one.layer}.${one.heads?.[head] ?? 0}${role ? ` ${role}` : ''}`;
        const kept = { row: why.row, column: why.key };
        const go = () => set({ wanted: keys.tensor, layer, head, lineHeads: new Set(), kept });
        const title = `${one.name(head)}: the same cell`;
        line.append(buttonFor(go, `${name} ${one.text(value)}`, '', { title }));
    }
    return line;
}

// `keys`: the tensor of the head's weights.
function drawVerdict(panel, why, keys) {
    if (why.hidden) {
        panel.append(
            element('p', 'The query does not see this key: it comes later, or is masked.'),
        );
        return;
    }
    panel.append(element('p', shareWords(why, keys), 'verdict'));
    panel.append(element('p', dimWords(why), 'verdict'));
    const heads = headsThatLook(why, keys);
    if (heads) panel.append(heads);
}
