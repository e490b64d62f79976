// The page's address holds the experiment: text, ablated heads, temperature, pin and view.

// A number of the address: an index from 0.
const toIndex = (text) => Math.max(0, Math.floor(Number(text)) || 0);

const toIds = (text) => (text || '').split('.').filter(Boolean).map(toIndex);

// Each entry: a function that writes it ('' leaves it out) and one that reads it.
const REMEMBERED = {
    text: [() => (live.engine && state.text !== usual.text ? state.text : ''), String],
    off: [() => [...state.off].sort().join(), (text) => new Set(text.split(',').filter(Boolean))],
    t: [() => (state.t === 1 ? '' : String(state.t)), (text) => clamp(Number(text) || 1, 0.1, 4)],
    pin: [pinText, readPin],
    sentence: [() => String(state.sentence || ''), toIndex],
    screen: [
        () => (state.screen === usual.screen ? '' : state.screen),
        (text) => (SCREENS.some((one) => one.name === text) ? text : SCREENS[0].name),
    ],
    show: [() => (state.kind === usual.kind ? '' : state.kind), String],
    head: [headText, String],
    cell: [
        () => (state.kept ? `${state.kept.row},${state.kept.column}` : ''),
        (text) => {
            const [row, column] = text.split(',').map(Number);
            return row >= 0 && column >= 0 ? { row: toIndex(row), column: toIndex(column) } : null;
        },
    ],
    token: [() => (state.kept || state.row === null ? '' : String(state.row)), toIndex],
    why: [() => (state.why ? '1' : ''), Boolean],
    scale: [() => state.scale, (text) => (['linear', 'sqrt'].includes(text) ? text : '')],
    lang: [() => state.lang, languageOf],
    present: [() => (state.present ? '1' : ''), Boolean],
    theme: [
        () => (state.theme === 'auto' ? '' : state.theme),
        (text) => (THEMES.includes(text) ? text : 'auto'),
    ],
    step: [
        () => (sentences[0].lesson && !state.lesson ? 'workbench' : ''),
        (text) => Boolean(sentences[0].lesson) && text !== 'workbench',
    ],
};
// Names in the address that differ from those in the state.
const STATE_NAMES = { show: 'kind', cell: 'kept', token: 'row', step: 'lesson' };
const usual = {};

function headText() {
    const same = state.layer === usual.layer && state.head === usual.head;
    return same ? '' : `${state.layer}.${state.head}`;
}

function pinText() {
    const { pin } = state;
    if (!pin) return '';
    if (pin.sentence !== undefined) return String(pin.sentence);
    if (pin.head) return `h${pin.head.join('.')}`;
    const text = pin.text === state.text ? '' : pin.text;
    return [pin.off.join(','), pin.t, pin.added.join('.'), text].join('|');
}

function readPin(text) {
    if (/^\d+$/.test(text)) return { sentence: clamp(Number(text), 0, sentences.length - 1) };
    const [, layer, head] = /^h(\d+)\.(\d+)$/.exec(text) || [];
    if (layer) return { head: [Number(layer), Number(head)] };
    const [off, t, added, ...other] = text.split('|');
    const run = { text: other.join('|'), added: toIds(added), off: off ? off.split(',') : [] };
    return { ...run, t: Number(t) || 1 };
}

// A live page keeps entries that need the engine in its address until the engine is open.
function waits(name) {
    return ['text', 'off', 't', 'pin', 'write'].includes(name) && byId('engine') && !live.engine;
}

function rememberState() {
    const words = new URLSearchParams();
    const before = new URLSearchParams(location.hash.slice(1));
    for (const [name, [write]] of Object.entries(REMEMBERED)) {
        const text = waits(name) ? before.get(name) : write();
        if (text) words.set(name, text);
    }
    const hash = words.size ? `#${words}` : location.pathname + location.search;
    if (`#${words}` !== (location.hash || '#')) history.replaceState(null, '', hash);
}

// The state in the address. Until its engine is open, a live page reads from the address only how
// to show its own text.
function recalledState() {
    const words = new URLSearchParams(location.hash.slice(1));
    const found = {};
    for (const [name, [, read]] of Object.entries(REMEMBERED)) {
        if (name === 'head') continue;
        const key = STATE_NAMES[name] || name;
        found[key] = words.has(name) && !waits(name) ? read(words.get(name)) : usual[key];
    }
    const head = words.get('head') || `${usual.layer}.${usual.head}`;
    [found.layer, found.head] = [0, 1].map((at) => toIndex(head.split('.')[at]));
    if (found.pin?.off) found.pin.text ||= found.text;
    return found;
}

// Apply the state in the address, and run it if there is an engine.
function runRecalled() {
    const found = recalledState();
    const before = pinned;
    pinned = sentences[found.pin?.sentence] || null;
    if (!live.engine) return set(found);
    byId('text').value = found.text;
    live.field = null; // the text is not typed: tokens may follow
    try {
        pinned = found.pin?.off ? runSentence(found.pin) : null;
    } catch {
        found.pin = pinned = null;
    }
    if (runLive(found)) return null;
    pinned = before;
    return rememberState(); // of the text that is shown
}

function listenToAddress() {
    for (const screen of SCREENS) Object.assign(REMEMBERED, screen.address);
    Object.assign(usual, state);
    Object.assign(state, recalledState());
    pinned = sentences[state.pin?.sentence] || null;
    window.addEventListener('hashchange', runRecalled);
}

async function copyLink() {
    rememberState();
    await copyText(location.href, byId('copy-link').querySelector('span') || byId('copy-link'));
    announce('Link copied');
}
