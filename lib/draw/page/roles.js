// The sentence that names heads by role, in the fold below the heads.

const ROLES_LISTED = 6; // heads named for each role, at most
const EFFECT_LEAST = 0.01; // smallest effect of a head that is named

const CLAUSES = {
    induction: 'attend to the token after the previous occurrence of the same word',
    'previous-token': 'attend to the previous token',
    'duplicate-token': 'attend to the same word before',
    self: 'attend to their own token',
    'first-token': 'attend to the first token',
    'next-token': 'attend to the next token',
    separator: 'attend to the token that ends texts',
};

// A button that selects a head.
function headName({ layer, head, name }, changes = { kept: null }, parts = shownHead(name)) {
    const pressed = layer === state.layer && head === state.head;
    const marks = { 'aria-pressed': pressed, 'data-head': name };
    return buttonFor(() => set({ layer, head, ...changes }), parts, 'name', marks);
}

// "L1H0, L1H1 and L1H3"
const namesOf = (parts) => parts.flatMap((part, at) =>
    (!at ? [part] : [at === parts.length - 1 ? ' and ' : isChinese() ? '、' : ', ', part]));

// "1.0 and 1.1 are induction heads: they attend to …."; of one head "1.0 is an induction head".
function putRole(parent, id, heads) {
    const isOne = heads.length === 1;
    const names = heads.slice(0, ROLES_LISTED).map((one) => headName(one));
    if (heads.length > ROLES_LISTED) names.push(`${heads.length - ROLES_LISTED} more`);
    const plural = CLAUSES[id];
    const clause = isOne ? plural.replace('attend', 'attends').replace('their', 'its') : plural;
    const kind = isOne ? ' is an induction head: it ' : ' are induction heads: they ';
    const end = waitsAtFirst(heads) ? '; where nothing repeats, to the first token. ' : '. ';
    parent.append(...namesOf(names),
        ...(id === 'induction' ? [kind, clause, end] : [` ${clause}. `]));
}

// Do all heads put half of their weight on the first token where no word repeats?
function waitsAtFirst(heads) {
    return heads.every(({ tensor, head }) => {
        const rows = targetsOf(tensor)
            .induction.map((keys, row) => (keys || !row ? -1 : row))
            .filter((row) => row > 0);
        const sum = rows.reduce((all, row) => all + tensor.at(head, row, 0), 0);
        return rows.length > 0 && sum / rows.length >= ROLE_LEAST;
    });
}

function drawRoles() {
    const box = byId('roles');
    box.replaceChildren();
    putRoles(box);
    putNaming(box);
}

function putRoles(box) {
    if (isCross(shownTensor()) && predicts())
        box.append(say('Each row predicts the word after its arrow; columns are the source.'), ' ');
    if (!hasRoles(shownTensor())) return;
    const heads = headsOf(current(), state.kind).filter((one) => !state.off.has(one.switchName));
    const groups = new Map(Object.keys(CLAUSES).map((id) => [id, []]));
    for (const one of heads) {
        const role = roleOf(one.tensor, one.head);
        if (role) groups.get(role.score).push(one);
    }
    const found = [...groups].filter(([, list]) => list.length);
    box.append(found.length ? 'On this text ' : 'On this text no head has a clear role. ');
    for (const [id, list] of found) putRole(box, id, list);
    const most = largestEffect();
    if (!most || state.off.size) return;
    box.append(say('Without '), headName(most));
    const all = current().mixer ? 'heads of attention' : 'heads';
    box.append(say(`, #, the most of all ${all}. `, shareChange(most.winner, most.share)));
}

// "L1H3: layer 1, head 3", of the selected head
function putNaming(box) {
    const tensor = shownTensor();
    const place = [tensor.layer, tensor.heads?.[state.head]];
    if (place.some((one) => typeof one !== 'number')) return;
    const words = say('#: layer #, head #', tensor.shownHead(state.head), ...place);
    box.append(element('span', words, 'quiet'));
}

// "“are” falls by 29.6 points"
function shareChange(was, share) {
    const points = 100 * (share - was.share);
    const words = points < 0 ? '# falls by # points' : '# rises by # points';
    return say(words, quoted(shown(was.name)), Math.abs(points).toFixed(1));
}

// The head whose removal changes the most likely token where the page opens by most, with that
// token and its share; null if it is not known, or less than a point.
function largestEffect() {
    const { effects, nextTokens, attention, opens } = current();
    if (!effects || !nextTokens || state.kind !== 'weights') return null;
    const [winner] = nextTokens.likeliest(opens);
    const of = ({ tensor: { layer, heads }, head }) =>
        effects[layer * attention.heads + (heads?.[head] ?? NaN)];
    const isKnown = ({ tensor }) => !tensor.isMixer; // no effects of mixers
    return headsOf(current(), state.kind).filter(isKnown)
        .map((one) => ({ ...one, winner, share: of(one), by: Math.abs(of(one) - winner.share) }))
        .filter(({ by }) => by >= EFFECT_LEAST)
        .sort((a, b) => b.by - a.by)[0] || null;
}
