// What if: switches of a live page, each an entry of state.off: the name of a head, "1.3" or
// "cross_1.3"; an arrow from a query to a key in all heads, "4:1"; or a part of the attention.
// Orange is off.

const PARTS = { mask: 'causal mask', scale: '÷ √d', positions: 'positions' };
const ARROW = /^(enc\.|cross_)?(\d+):(\d+)$/;
const HEAD = /^(enc\.|cross_|mix_)?(\d+)\.(\d+)$/;
const HEAD_PLACES = { 'enc.': '# of the encoder', cross_: '# of the cross-attention' };

const isHeadName = (name) => !ARROW.test(name) && !(name in PARTS);

// The name of a switch as people read it.
function shownSwitch(name) {
    const [, place, layer, head] = HEAD.exec(name) || [];
    if (!head) return PARTS[name] || name;
    const words = shownHead(`${layer}.${head}`);
    return HEAD_PLACES[place] ? say(HEAD_PLACES[place], words) : words;
}

const listedSwitches = (names) => listed([...names].sort().map(shownSwitch));

// --- requests to the engine --------------------------------------------------------------------

// The edit of the command line that cuts an arrow or ablates a head.
function editOf(name) {
    const { differs, heads } = sentences[state.sentence].attention;
    const [, part = '', query, key] = ARROW.exec(name) || [];
    if (key) return `${part}masked[query=${query},key=${key}] = -1e30`;
    const [, place = '', layer, head] = HEAD.exec(name) || [];
    return `h.${layer}.${place}context[head=${differs ? head % (heads / 2) : head}] = 0`;
}

const editsOf = (off) => off.filter((name) => !(name in PARTS)).map(editOf).join('; ');

// Can tokens be added to the text: with the causal mask, and without arrows that are cut, which the
// engine has for a whole text alone?
const stopsGrowth = (name) => name === 'mask' || ARROW.test(name);
const canGrow = () => ![...state.off].some(stopsGrowth);

// Is it an arrow from a token that a text of so many tokens lacks?
const isArrowBeyond = (name, tokens) => Number(ARROW.exec(name)?.[2]) >= tokens;

// Values of --scale and --without for the parts that are off.
function partsOf(off) {
    const without = Object.keys(PARTS).filter((name) => name !== 'scale' && off.includes(name));
    return [off.includes('scale') ? 'none' : '', without.join()];
}

// Switch parts of the engine's attention off, and others on.
function switchParts(off) {
    const parts = partsOf(off);
    if (`${parts}` === live.parts) return;
    live.engine.switches(...parts);
    live.parts = `${parts}`;
}

// The same as options of the command line.
function optionsOfOff(off) {
    const [scale, without] = partsOf(off);
    const heads = off.filter((name) => /^\d+\./.test(name));
    const arrows = off.filter((name) => /^\d+:/.test(name));
    const others = off.filter((name) => /^[a-z]+[._]/.test(name)).map(editOf);
    return [
        ...(heads.length ? ['--ablate', heads.join()] : []),
        ...(arrows.length ? ['--knockout', arrows.join()] : []),
        ...(others.length ? ['--edit', others.join('; ')] : []),
        ...(scale ? ['--scale', scale] : []), ...(without ? ['--without', without] : []),
    ];
}

// The parts that the model has: those that its engine can leave out.
function partsOfModel() {
    const isPossible = (name) => {
        try {
            live.engine.switches(...partsOf([name]));
            return true;
        } catch {
            return false;
        }
    };
    const hasScores = current().tensors.some((one) => one.isAttention);
    const found = hasScores ? Object.keys(PARTS).filter(isPossible) : [];
    live.engine.switches('', '');
    live.parts = ',';
    // generating, as for a translation, needs the causal mask
    return live.translates ? found.filter((name) => name !== 'mask') : found;
}

// --- arrows ------------------------------------------------------------------------------------

// Can arrows of the shown tensor be cut?
function canCut(tensor = shownTensor()) {
    const isDense = current().sites?.includes('masked') || tensor.tensor !== 'weights';
    return Boolean(live.engine) && tensor.isAttention && tensor.layer !== null && isDense;
}

// The name of an arrow of the shown tensor: "4:1", or "cross_4:1" to a source.
function arrowName(row, column, { tensor } = shownTensor()) {
    const [prefix] = /^(enc\.|cross_)?/.exec(tensor);
    return `${prefix}${row}:${column}`;
}

// "cabinet → keys"
function arrowWords(name) {
    const [, part = '', row, column] = ARROW.exec(name);
    const { sentence, source } = current().labels;
    const queries = part === 'enc.' ? source : sentence;
    const word = (labels, at) => element('bdi', shown(labels?.[at] ?? at), '', { translate: 'no' });
    return [word(queries, Number(row) + Number(part === 'cross_')), ' → ',
        word(part ? source : sentence, column)];
}

// The arrow of the selected cell, or the largest one of the selected word; '': none is selected.
function selectedArrow() {
    const tensor = shownTensor();
    const row = state.kept?.row ?? state.row;
    if (row === null || row >= tensor.rowCount || !canCut()) return '';
    const others = tensor.row(state.head, row).subarray(0, tensor.keyCount)
        .map((weight, key) => (key === row && !isCross(tensor) ? 0 : weight || 0));
    const key = state.kept?.column ?? largestOf(others);
    return others[key] > 0 ? arrowName(row, key) : '';
}

// The arrows of the row of switches: those that are cut, or else the selected one, or the one of
// the finding.
function listedArrows() {
    const cut = [...state.off].filter((name) => ARROW.test(name));
    if (!cut.length && selectedArrow()) return [selectedArrow()];
    const [first] = current().findings || [];
    if (cut.length || !first || !canCut()) return cut;
    const { tensor } = headOfFinding(first) || {};
    return tensor && canCut(tensor) ? [arrowName(first.query, first.key, tensor)] : [];
}

// --- the row -----------------------------------------------------------------------------------

function switchButton(name, words, title) {
    const isOn = !state.off.has(name);
    const id = `switch-${name.replace(/\W/g, '-')}`;
    const marks = { role: 'switch', 'aria-checked': isOn, title, id };
    return buttonFor(() => switchOne(name), [element('i'), ...words], 'switch', marks);
}

// The root that scores are divided by, "÷ √24"; the root of a scale that is none has no number.
function rootWord() {
    const [scale] = (pinned || current()).attention?.scales?.weights || [];
    const root = Math.round(1 / scale ** 2);
    return root > 1 && Math.abs(root * scale ** 2 - 1) < 1e-3 ? `÷ √${root}` : PARTS.scale;
}

const PART_TITLES = {
    mask: 'a word looks only at itself and at earlier words',
    scale: 'scores are divided by the root of the size of a head',
    positions: 'the model knows the order of words',
};

function drawSwitches() {
    byId('what-if').hidden = !live.engine;
    if (!live.engine) return;
    const arrowNames = listedArrows();
    byId('switches').dataset.arrows = arrowNames;
    const arrows = arrowNames.map((name) =>
        switchButton(name, arrowWords(name), 'in all heads; or click an arc'));
    const isWritten = state.write.ids.length > 0; // words are added with the causal mask
    const parts = live.has.filter((name) => name !== 'mask' || !isWritten || state.off.has(name))
        .map((name) => switchButton(name, [name === 'scale' ? rootWord() : PARTS[name]],
            PART_TITLES[name]));
    byId('switches').replaceChildren(...arrows, ...parts);
    byId('bars').classList.toggle('appends', canGrow());
    drawHeadSwitches();
    byId('what-if').hidden = !arrows.length && !parts.length && byId('heads-on').hidden;
    byId('t').value = state.t;
    byId('t-value').textContent = Number(state.t).toFixed(1);
    byId('temperature-row').hidden = shownTensor().isMixer;
    byId('reset').disabled = !state.off.size && state.t === 1;
    byId('pin').querySelector('span').textContent = isPinned() ? 'Unpin'
        : pinned ? 'Pin this run' : 'Pin as baseline';
}

// All heads, without the selected one, or it alone in its layer; others that are off are named.
function drawHeadSwitches() {
    const tensor = shownTensor();
    const box = byId('heads-on');
    box.hidden = !canSwitch(tensor);
    if (box.hidden) return;
    const name = tensor.switchName(state.head);
    const rest = tensor.heads.map((_, at) => tensor.switchName(at)).filter((one) => one !== name);
    const off = [...state.off].filter(isHeadName).sort().join();
    const words = tensor.shownHead(state.head);
    const entries = [['', 'all heads'], [name, say('without #', words)]];
    if (rest.length) entries.push([rest.sort().join(), say('# alone', words)]);
    if (!entries.some(([value]) => value === off))
        entries.push([off, say('without #', listedSwitches(off.split(',')))]);
    const marked = entries.map(([value, words]) => [value, words, { id: `heads-${value || 'all'}`
        .replace(/\W/g, '-') }]);
    drawSegments(box, marked, off, (value) => { // the other switches stay as they are by then
        const others = [...state.off].filter((one) => !isHeadName(one));
        switchTo(new Set([...others, ...value.split(',').filter(Boolean)]));
    });
}

// --- switching ---------------------------------------------------------------------------------

// The first switch pins the run before it; that pin ends when nothing is switched any more.
function switchTo(off, t = state.t) {
    const before = [state.pin, pinned];
    const ends = !off.size && t === 1 && state.pin && state.pin === live.pin;
    if (ends) state.pin = pinned = null;
    else if (!pinned) live.pin = pinRun();
    if (!runLive({ off, t })) [state.pin, pinned] = before;
}

function switchOne(name) {
    const off = new Set(state.off);
    if (!off.delete(name)) off.add(name);
    switchTo(off);
}

function listenToSwitches() {
    on('t', 'input', () => switchTo(state.off, Number(byId('t').value)));
    on('pin', 'click', togglePin);
    on('reset', 'click', () => switchTo(new Set(), 1));
    byId('arcs').addEventListener('click', ({ target }) => {
        const { arrow } = target.dataset;
        if (arrow) switchOne(arrow);
    });
}
