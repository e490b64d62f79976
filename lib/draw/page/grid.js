// All heads as thumbnails, the scores of the selected head, and what is compared.

const THUMB = 69;
const CAPTIONED = [4, 8]; // layers and heads: larger models have small thumbnails without captions

// As many pixels as cells; page.css enlarges them.
function drawThumbnail(canvas, tensor, index, size) {
    const pixels = Math.round(size * (window.devicePixelRatio || 1));
    canvasOfCells(levelsOf(tensor, index, pixels, pixels), canvas);
}

// The look of a head's button, without its numbers.
function headFacts({ tensor, head, layer, name, switchName }, captions) {
    const off = state.off.has(switchName);
    const changed = off || !hasBefore(tensor) ? 0 : distanceSincePin(tensor, head);
    const kind = tensor.isMixer ? mixerRole(tensor, head) : hasRoles(tensor) && 'mixed';
    const role = roleOf(tensor, head) || (kind && { name: kind, brief: kind });
    return {
        ...{ layer, head, name, switchName, off, captions },
        label: shownHead(name) || tensor.tensor,
        role: off && role ? { name: 'off', brief: 'off' } : role,
        changed: changed < 0.005 ? '' : changed.toFixed(2).replace(/^0/, ''),
        switches: canSwitch(tensor),
    };
}

function headButton({ layer, head, name, switchName, label, off, role, ...has }) {
    const { changed, captions, switches } = has;
    const words = [label, off ? 'off' : role?.name, changed && `changed by ${changed}`];
    const disc = element('i'); // shows the change by its area, at most 12 pixels across
    disc.style.width = disc.style.height = `${Math.max(4, 14 * Math.sqrt(changed))}px`;
    const parts = [element('canvas'),
        changed && captions && element('span', [`${changed} `, disc], 'disc')];
    const button = buttonFor(() => set({ layer, head, kept: null }), parts, 'thumb', {
        'aria-label': words.filter(Boolean).join(', '),
        ...{ 'data-head': name, 'data-place': `${layer} ${head}`, title: shownHead(name) },
        'data-switch': switchName,
    });
    const title = `Turn ${shownHead(name)} ${off ? 'on again' : 'off (x)'}`;
    const power = () => buttonFor(() => switchOne(switchName), icon('power'), 'power',
        { 'aria-label': title, title, tabindex: -1, 'data-head': name, 'data-switch': switchName });
    const isHidden = { 'aria-hidden': true };
    const caption = captions ? [
        element('div', [element('b', label, '', isHidden), switches && power()], 'caption'),
        role && element('span', role.brief, 'role', isHidden),
    ] : [];
    return element('div', [button, ...caption], off ? 'head is-off' : 'head');
}

function drawHeads() {
    const grid = byId('grid');
    const tensors = current().of(state.kind);
    const heads = Math.max(...tensors.map((tensor) => tensor.shape[0]));
    const captions = tensors.length <= CAPTIONED[0] && heads <= CAPTIONED[1];
    const across = captions ? Math.min(heads, 4) : heads;
    const room = phone.matches ? window.innerWidth - 32 : 300;
    const size = captions
        ? clamp(Math.floor((room - 24) / 4), THUMB, 78)
        : clamp(Math.floor((room - 24) / heads) - 4, 24, THUMB);
    const shows = JSON.stringify([
        ...[state.runs, state.sentence, state.kind, state.pin, [...state.off], state.scale],
        ...[size, state.printing, document.documentElement.dataset.theme, Boolean(live.engine)],
    ]);
    if (grid.dataset.shows === shows) chooseHead(grid, across);
    else fillGrid(grid, { tensors, across, size, captions });
    grid.dataset.shows = shows;
    const discs = grid.querySelector('.disc');
    const hint = canSwitch(shownTensor()) && !phone.matches ? 'x switches one off' : '';
    byId('grid-hint').textContent = discs ? 'disc: mean change of its weights' : hint;
    const tensor = shownTensor();
    byId('memory').hidden = !tensor.isMixer;
    if (tensor.isMixer) drawMemory(tensor);
    drawScores(tensor);
}

// All thumbnails, a few rows a frame in an empty grid: old ones are replaced together.
function fillGrid(grid, { tensors, across, size, captions }) {
    const frame = JSON.stringify([captions, tensors.map((tensor) => tensor.layer)]);
    const isNew = grid.dataset.frame !== frame;
    if (isNew) grid.replaceChildren();
    grid.dataset.frame = frame;
    grid.classList.toggle('small', !captions);
    grid.style.setProperty('--across', across);
    grid.style.setProperty('--size', `${size}px`);
    const all = headsOf(current(), state.kind);
    const add = (from) => {
        if (!grid.isConnected || from >= tensors.length) return;
        for (let layer = from; layer < Math.min(from + 4, tensors.length); layer++) {
            const name = tensors[layer].layer;
            const rows = grid.getElementsByClassName('row');
            if (!rows[layer]) {
                if (name !== null)
                    grid.append(element('span', layerWords(tensors[layer], captions), 'layer'));
                grid.append(element('div', '', 'row'));
            }
            const mine = all.filter((one) => one.layer === layer);
            const facts = mine.map((one) => headFacts(one, captions));
            keepOrMake(rows[layer], facts, headButton);
            const canvases = rows[layer].querySelectorAll('canvas');
            mine.forEach(({ tensor, head }) => drawThumbnail(canvases[head], tensor, head, size));
        }
        chooseHead(grid, across);
        if (state.printing || !isNew) add(from + 4);
        else fillGrid.waiting = requestAnimationFrame(() => add(from + 4));
    };
    cancelAnimationFrame(fillGrid.waiting);
    add(0);
}

function chooseHead(grid, across) {
    const place = `${state.layer} ${state.head}`;
    for (const thumb of grid.querySelectorAll('.thumb'))
        thumb.setAttribute('aria-pressed', thumb.dataset.place === place);
    rove(grid, '.thumb', across);
    if (grid.classList.contains('small'))
        reveal(grid, grid.querySelector(`[data-place="${place}"]`));
}

// Scores of the command `heads`, where the page has them.
function drawScores(tensor) {
    const { scores } = current();
    const list = byId('scores');
    // of a layer with both, attention has the scores
    const isAlone = (one) =>
        !current().of(state.kind).some((other) => other !== one && other.layer === one.layer);
    const isScored = (one) =>
        one.tensor === 'weights' ? one.heads : one.isMixer && !one.mean_of && isAlone(one);
    const isKnown = scores && isScored(tensor);
    list.lastElementChild.hidden = !isKnown;
    if (!isKnown) return;
    const nameOf = (one) => shownHead(`${one.tensor.layer}.${one.tensor.heads?.[one.head] ?? 0}`);
    const valuesOf = (one) => scores.values[scores.heads.indexOf(nameOf(one))];
    const found = valuesOf({ tensor, head: state.head });
    const all = headsOf(current(), state.kind).filter((one) => isScored(one.tensor));
    const highest = (i) => all.reduce((a, b) => (valuesOf(b)[i] > valuesOf(a)[i] ? b : a));
    list.querySelector('dl').replaceChildren(...scores.names.flatMap((name, i) => [
        element('dt', name),
        element('dd', found[i] === null ? '–' : brief(found[i])),
        element('dd', headName(highest(i)), 'highest'),
    ]));
}

// --- what is compared --------------------------------------------------------------------------

// Can heads of a tensor be switched off: are they heads of query tokens, whose contexts are known?
function canSwitch(tensor) {
    const has = Boolean(tensor.heads) && tensor.layer !== null;
    const [place] = /^(enc\.|cross_|mix_)?/.exec(tensor.tensor);
    return Boolean(live.engine) && has && current().sites.includes(`${place}context`);
}

function runWords({ off, t }) {
    const switched = off.length ? `off: ${listedSwitches(off)}` : 'all heads on';
    return `${switched}, attention temperature ${t}`;
}

// What is compared with: a text of the page or the pin, and a list of the texts.
function drawCompare() {
    byId('compare-row').hidden = sentences.length < 2;
    fill(byId('compare'), [['', 'none'], ...otherTexts()], state.pin?.sentence ?? '');
    drawPinned();
}

// The texts that this one can be compared with.
const otherTexts = () => titlesOfTexts().filter(([at]) => at !== state.sentence);

function drawPinned() {
    const box = byId('pinned');
    box.replaceChildren();
    if (!pinned || state.pin === live.pin) return; // else the line of what changed names it
    const words = comparesTexts()
        ? `A: ${pinned.name()}`
        : `Pinned: ${runWords(state.pin)}${state.pin.text === state.text ? '' : ', other text'}`;
    box.append(element('span', [icon('pin'), words], 'pin-name'),
        buttonFor(unpin, comparesTexts() ? 'Stop comparing' : 'Unpin', 'link'));
}

function comparesTexts() {
    return state.pin?.sentence !== undefined;
}

// Compare with another text of the page. The matrix opens the weight that differs most: at the
// token that was selected, if any.
function compareWith(value) {
    if (!value) return unpin();
    state.pin = readPin(value);
    pinned = sentences[state.pin.sentence] || null;
    settle();
    if (shownScreen() === SCREENS[0]) openLargestChange();
    return set({});
}

function openLargestChange() {
    const most = largestChange(state.kept?.row ?? state.row);
    if (!most) return;
    const { layer, head, row } = most;
    Object.assign(state, { layer, head, row, kept: null });
}

// Compare with a text of as many tokens, if there is one, or stop.
function toggleCompare() {
    if (state.pin) return unpin();
    const counts = sentences.map(({ labels }) => labels.sentence.length);
    const alike = counts.findIndex((count, at) =>
        at !== state.sentence && count === counts[state.sentence]);
    return alike >= 0 && compareWith(String(alike));
}

function unpin() {
    state.pin = null;
    pinned = null;
    set({});
}
