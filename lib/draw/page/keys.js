// Fields, buttons and keys.

function step(list, value, by) {
    return list[(list.indexOf(value) + by + list.length) % list.length];
}

function stepHead(by) {
    const heads = [...Array(shownTensor().shape[0]).keys()];
    if (heads.length > 1) heads.push('mean');
    state.lineHeads.clear();
    move({ head: step(heads, state.head, by), opened: true });
}

// Among all layers and heads, only what is opened changes.
function move(changes) {
    if (state.view === 'model') openHead(changes);
    else set(changes);
}

function stepLayer(by) {
    const count = current().of(state.kind).length;
    move({ layer: clamp(state.layer + by, 0, count - 1), opened: true });
}

function stepSentence(by) {
    set({ sentence: clamp(state.sentence + by, 0, sentences.length - 1) });
}

// On the way through the model, where that is shown.
function stepStation(by) {
    if (document.querySelector('#stage .walk')) walkView.step(by);
}

function letGo() {
    set({ kept: null, token: null, opened: false });
}

const KEYS = {
    ArrowLeft: () => stepHead(-1),
    ArrowRight: () => stepHead(1),
    ArrowUp: () => stepLayer(-1),
    ArrowDown: () => stepLayer(1),
    m: () => set({ head: state.head === 'mean' ? 0 : 'mean', lineHeads: new Set() }),
    a: layAll,
    s: () => set({ scale: step(Object.keys(SCALES), state.scale, 1) }),
    f: () => set({ hideFirst: !state.hideFirst }),
    d: () => set({ theme: step(THEMES, state.theme, 1) }),
    '[': () => stepSentence(-1),
    ']': () => stepSentence(1),
    ',': () => stepStation(-1),
    '.': () => stepStation(1),
    w: openSave,
    '?': () => byId('keys').showModal(),
    Escape: letGo,
};

function press(event) {
    if (document.querySelector('dialog[open]')) return; // it has keys of its own: Esc closes it
    const field = event.target.closest && event.target.closest('select, input, dialog');
    if (event.ctrlKey || event.metaKey || event.altKey || (field && event.key !== 'Escape')) return;
    const chosen = VIEWS.find((one) => one.key === event.key);
    if (chosen) {
        if (!byId(`view-${chosen.id}`).disabled) set({ view: chosen.id });
    } else if (KEYS[event.key]) {
        KEYS[event.key]();
        event.preventDefault();
    }
}

function listen() {
    const onChange = (id, change) =>
        byId(id).addEventListener('change', () => set(change(byId(id))));
    onChange('sentence', (field) => ({ sentence: Number(field.value) }));
    onChange('tensor', (field) => ({ wanted: field.value }));
    onChange('layer', (field) => ({ layer: Number(field.value) }));
    onChange('scale', (field) => ({ scale: field.value }));
    onChange('first', (field) => ({ hideFirst: field.checked }));
    byId('layer-down').addEventListener('click', () => stepLayer(-1));
    byId('layer-up').addEventListener('click', () => stepLayer(1));
    byId('theme').addEventListener('click', KEYS.d);
    byId('help').addEventListener('click', KEYS['?']);
    document.addEventListener('keydown', press);
    prefersDark.addEventListener('change', () => state.printing || draw());
    window.addEventListener('beforeprint', () => drawForPaper(true));
    window.addEventListener('afterprint', () => drawForPaper(false));
    let waiting = 0;
    window.addEventListener('resize', () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => state.printing || draw(), 120);
    });
}

function start() {
    byId('sentences').hidden = sentences.length < 2;
    const attention = current().kinds.find(isOfAttention);
    state.wanted = attention || current().kinds[0];
    const usual = current().lesson ? 'lesson' : 'matrix';
    state.view = look.view === 'overlay' ? 'lines' : look.view || usual;
    if (!view()) state.view = 'matrix'; // bars are of pictures alone
    if (look.view === 'overlay' && attention)
        state.lineHeads = new Set(Array(current().of(attention)[0].shape[0]).keys());
    listen();
    listenToSave();
    listenToAddress();
    draw();
}

start();
