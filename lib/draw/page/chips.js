// Tokens of the text as chips, and the sentence that names heads by role.

const ROLES_LISTED = 6; // heads named for each role, at most
const EFFECT_LEAST = 0.01; // smallest effect of a head that is named
const NO_MODEL = 'Weights of another program, without a model: nothing is predicted or explained.';
const NOT_TRAINED = 'This model is not trained: its numbers show the computation, not language';

const CHIPS = { source: 'source', chips: 'sentence' }; // boxes, and the labels that they show

function drawChips() {
    const { labels, nextTokens } = current();
    drawTokens('source', labels.source || [], null);
    drawTokens('chips', labels.sentence || [], nextTokens);
    byId('source').hidden = byId('source-name').hidden = !labels.source;
    highlightChips(currentCell());
    for (const id of Object.keys(CHIPS)) if (byId(id).firstChild) rove(byId(id), '.chip');
}

function drawTokens(id, labels, next) {
    const box = byId(id);
    const all = labels.map((label, at) => ({ label, at, surprisal: next?.surprisal(at) ?? NaN }));
    keepOrMake(box, all, ({ label, at, surprisal }) => {
        const isKnown = !Number.isNaN(surprisal);
        const bits = `, surprisal ${(surprisal / Math.LN2).toFixed(1)} bits`;
        const marks = { 'data-at': at, title: `${at}: ${label}${isKnown ? bits : ''}` };
        const bar = element('i');
        bar.style.opacity = isKnown ? clamp(surprisal / 7, 0.14, 1) : 0;
        const parts = [element('span', shown(label)), bar];
        const chip = buttonFor(() => pickToken(id, at, true), parts, 'chip', marks);
        chip.classList.toggle('second', at > 0 && id === 'chips' && at === current().second);
        onPoint(chip, (isOn) => (isOn ? pickToken(id, at) : hover(null)), HOVERS);
        return chip;
    });
}

// Select a token's row, or its column where rows are of another text; without `keep` hover over it.
function pickToken(id, at, keep = false) {
    const { row_labels: rows, column_labels: columns } = shownTensor();
    const cell = { row: selectedRow(), column: at };
    if (rows === CHIPS[id]) (keep ? selectRow : (row) => hover({ row }))(at);
    else if (columns === CHIPS[id]) (keep ? keepCell : hover)(cell);
}

function highlightChips(cell) {
    const { row_labels: rows, column_labels: columns } = shownTensor();
    for (const [id, kind] of Object.entries(CHIPS)) {
        const place = rows === kind ? cell.row : columns === kind ? cell.column : -1;
        for (const chip of byId(id).children) {
            const here = Number(chip.dataset.at) === place;
            if ((chip.getAttribute('aria-pressed') === 'true') !== here || !chip.ariaPressed)
                chip.setAttribute('aria-pressed', here);
            if (here && !byId(id).matches(':hover')) reveal(byId(id), chip);
        }
    }
}

// The chips with the same word as a predicted token.
function highlightWord(name) {
    for (const chip of byId('chips').children)
        chip.classList.toggle('same', name !== null && chip.firstChild.textContent === shown(name));
}

// --- the sentence ------------------------------------------------------------------------------

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

// "L1·H0, L1·H1 and L1·H3"
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
    putNotes(box);
    if (!pinned || !putChanges(box)) putRoles(box);
    putNaming(box);
    drawPinned();
    announce(box);
}

// Notes on the model and the text, before all other sentences.
function putNotes(box) {
    const { untrained, files, splits, labels } = current();
    if (untrained) box.append(element('b', `${NOT_TRAINED}.`), ' ');
    if (files) box.append(element('b', NO_MODEL), ' ');
    if (splits === undefined) return;
    const words = 'Some characters are not in the vocabulary and are split into bytes, such as #.';
    box.append(element('b', say(words, quoted(labels.sentence[splits]))), ' ');
}

function putRoles(box) {
    if (isCross(shownTensor()) && predicts())
        box.append(say('Each row predicts the word after its arrow; columns are the source.'), ' ');
    if (!hasRoles(shownTensor())) return;
    const heads = headsOf(current(), state.kind).filter((one) => !state.off.has(one.name));
    const groups = new Map(Object.keys(CLAUSES).map((id) => [id, []]));
    for (const one of heads) {
        const role = roleOf(one.tensor, one.head);
        if (role) groups.get(role.score).push(one);
    }
    const found = [...groups].filter(([, list]) => list.length);
    if (state.off.size) putOff(box, ': ');
    else box.append(found.length ? 'On this text ' : 'On this text no head has a clear role. ');
    for (const [id, list] of found) putRole(box, id, list);
    const most = largestEffect();
    if (!most || state.off.size) return;
    box.append(say('Without '), headName(most));
    const all = current().mixer ? 'heads of attention' : 'heads';
    box.append(say(`, #, the most of all ${all}. `, shareChange(most.winner, most.share)));
}

// "L1·H3: layer 1, head 3", of the selected head
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

// "Without 0.1 ✕ and 1.3 ✕"
function putOff(box, end) {
    const names = [...state.off].sort().map((name) => {
        const words = shownHead(name);
        const marks = { title: `Turn ${words} on again`, 'data-head': name };
        return buttonFor(() => switchHead(name), `${words} ✕`, 'name off', marks);
    });
    box.append('Without ', ...namesOf(names), say(end));
}

// Describe heads whose role changed since the pin; false if the texts cannot be compared.
function putChanges(box) {
    if (!hasRoles(shownTensor()) || !sameShape(shownTensor(), pinnedTensor())) return false;
    const changes = [new Map(), new Map()]; // by role: heads that lost it, and that gained it
    for (const one of headsOf(current(), state.kind)) {
        const tensors = [pinnedTensor(one.tensor), one.tensor];
        const [was, is] = tensors.map((tensor) => roleOf(tensor, one.head));
        if (state.off.has(one.name) || was?.score === is?.score) continue;
        const values = tensors.map((tensor) => meanText(roleValue(tensor, one.head, was || is)));
        const [map, { name }] = [changes[Number(!was)], was || is];
        const made = { ...one, values: was ? values.join(' → ') : values[1] };
        map.set(name, [...(map.get(name) || []), made]);
    }
    if (state.off.size) putOff(box, ', ');
    else if (comparesTexts()) box.append('From A to B ');
    else box.append('Since the pin ');
    const [changed, next] = nextChange();
    if (changed) box.append(changed, '. ');
    const others = state.off.size ? ' other head' : ' head';
    if (!changes.some((map) => map.size) && (changed || !putLargestChange(box)))
        box.append(`${changed ? 'No' : 'no'}${others} changes its role. `);
    changes.forEach((map, isGained) => map.forEach((list, role) => {
        const some = list.slice(0, ROLES_LISTED);
        const article = /^[aeiou]/.test(role) ? 'an' : 'a';
        const words = list.length > 1
            ? ` ${isGained ? 'become' : 'are no longer'} ${role} heads: `
            : ` ${isGained ? 'becomes' : 'is no longer'} ${article} ${role} head: `;
        box.append(...namesOf(some.map((one) => headName(one))), words,
            listed(some.map((one) => one.values)), '. ');
    }));
    box.append(next);
    return true;
}

// "L1·H0 changes most at “it”: “road”, 0.01 → 0.97.", of the selected row or else of all; false if
// no weight changes by DIFFERS.
function putLargestChange(box) {
    const [mine, any] = [largestChange(selectedRow()), largestChange(null)];
    const most = mine?.by >= DIFFERS ? mine : any;
    if (!(most?.by >= DIFFERS)) return false;
    const { tensor, row, column, was, is } = most;
    const names = [tensor.label('row', row), tensor.label('column', column)].map(quoted);
    const words = say(' changes most at #: #, # → #. ', ...names, was.toFixed(2), is.toFixed(2));
    box.append(headName(most), words);
    return true;
}

// The change of the most likely token where the same text opens, and "Next token: wog → ␣." if
// another one is the most likely now.
function nextChange() {
    const [was, is] = [pinned, current()].map(({ nextTokens: next, opens }) => ({
        next,
        ...next?.likeliest(opens)[0],
    }));
    if (!was.name || !is.name) return ['', ''];
    const share = is.next.shareOf(was.id, current().opens);
    const isSame = pinned.text === current().text && Math.abs(share - was.share) >= 0.0005;
    const names = candidateNames([was, is]).map(isolated);
    const title = current().classes ? 'Class' : current().masks ? 'Fill-in' : 'Next token';
    const other = names[0] === names[1] ? '' : `${title}: ${names.join(' → ')}.`;
    return [isSame ? shareChange(was, share) : '', other];
}
