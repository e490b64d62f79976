// The page's address holds the experiment: text, ablated heads, temperature, pin and view.

// An index from 0, from the text of the address.
const toIndex = (text) => Math.max(0, Math.floor(Number(text)) || 0);

const toIds = (text) => (text || '').split('.').filter(Boolean).map(toIndex);

// Each entry: how a part of the state is written, and the changes of the state that its text
// stands for. What is as usual is left out, so the text of each usual part reads back to it.
const REMEMBERED = {
    text: [({ text }) => (live.engine ? text : ''), (text) => ({ text })],
    off: [({ off }) => [...off].sort().join(),
        (text) => ({ off: new Set(text.split(',').filter(Boolean)) })],
    t: [({ t }) => t, (text) => ({ t: clamp(Number(text) || 1, 0.1, 4) })],
    pin: [pinText, (text) => ({ pin: readPin(text) })],
    sentence: [({ sentence }) => sentence, (text) => ({ sentence: toIndex(text) })],
    screen: [({ screen }) => screen, (text) =>
        ({ screen: (SCREENS.find((one) => one.name === text) || SCREENS[0]).name })],
    show: [({ kind }) => kind, (kind) => ({ kind })],
    // '': the head that the text opens
    head: [(one) => (one === usual || isOpenedHead() ? '' : `${one.layer}.${one.head}`), (text) => {
        const [layer, head = 0] = text ? text.split('.').map(toIndex) : [usual.layer, usual.head];
        return { layer, head, isNamed: Boolean(text) };
    }],
    cell: [({ kept }) => (kept ? `${kept.row},${kept.column}` : ''), (text) => {
        const [row, column] = text.split(',').map(Number);
        const isCell = row >= 0 && column >= 0;
        return { kept: isCell ? { row: toIndex(row), column: toIndex(column) } : null };
    }],
    token: [({ kept, row }) => (kept ? '' : (row ?? '')),
        (text) => ({ row: text ? toIndex(text) : null })],
    why: [({ why }) => (why ? 1 : ''), (text) => ({ why: Boolean(text) })],
    scale: [({ scale }) => scale,
        (text) => ({ scale: ['linear', 'sqrt'].includes(text) ? text : '' })],
    lang: [({ lang }) => lang, (text) => ({ lang: languageOf(text) })],
    present: [({ present }) => (present ? 1 : ''), (text) => ({ present: Boolean(text) })],
    slide: [({ present, slide }) => (present ? slide : 0), (text) => ({ slide: toIndex(text) })],
    theme: [({ theme }) => theme, (text) => ({ theme: THEMES.includes(text) ? text : 'auto' })],
    step: [({ lesson }) => (lesson ? '' : 'workbench'),
        (text) => ({ lesson: Boolean(sentences[0].lesson) && text !== 'workbench' })],
};
const usual = {};

function pinText({ pin, text: now } = state) {
    if (!pin || pin === live.pin) return ''; // a switch pins by itself
    if (pin.sentence !== undefined) return String(pin.sentence);
    const text = pin.text === now ? '' : pin.text;
    return [pin.off.join(','), pin.t, pin.added.join('.'), text].join('|');
}

function readPin(text) {
    if (!text) return null;
    if (/^\d+$/.test(text)) return { sentence: clamp(Number(text), 0, sentences.length - 1) };
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
        const [now, other] = [state, usual].map((one) => String(write(one)));
        const text = waits(name) ? before.get(name) : now !== other && now;
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
    for (const [name, [write, read]] of Object.entries(REMEMBERED)) {
        const text = waits(name) ? null : words.get(name);
        Object.assign(found, read(text ?? String(write(usual))));
    }
    if (found.pin?.off) found.pin.text ||= found.text;
    return found;
}

// Apply the state in the address, and run it if there is an engine.
function runRecalled() {
    const found = recalledState();
    const before = pinned;
    pinned = sentences[found.pin?.sentence] || null;
    if (!live.engine) return set(found);
    if (!found.pin && (found.off.size || found.t !== 1)) // as if they had been switched here
        live.pin = found.pin = { text: found.text, added: found.write.ids, off: [], t: 1 };
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
    if (!state.isNamed && !state.lesson) {
        state.sentence = clamp(state.sentence, 0, sentences.length - 1);
        openHead();
    }
    window.addEventListener('hashchange', runRecalled);
}

function copyLink() {
    rememberState();
    return copyText(location.href, byId('copy-link').querySelector('span') || byId('copy-link'));
}
