// What is shown, in the page's address: a link or a bookmark opens it again.

// Of the state, what an address keeps, each with how it is read.
const REMEMBERED = {
    sentence: (text) => Math.min(Number(text) || 0, sentences.length - 1),
    view: (text) => (VIEWS.some((one) => one.id === text) ? text : 'matrix'),
    wanted: String,
    layer: (text) => Math.max(0, Number(text) || 0),
    head: (text) => (text === 'mean' ? text : Math.max(0, Number(text) || 0)),
    lineHeads: (text) => new Set(text.split(',').filter(Boolean).map(Number)),
    scale: (text) => (text in SCALES ? text : 'linear'),
    hideFirst: (text) => text === 'true',
    theme: (text) => (THEMES.includes(text) ? text : 'auto'),
    kept: (text) => {
        const [row, column] = text.split(',').map(Number);
        return text && row >= 0 && column >= 0 ? { row, column } : null;
    },
    sides: (text) =>
        text.split(';').map((side) => {
            const [sentence, layer, head] = side.split(',').map((part) => Number(part) || 0);
            return { sentence, layer, head };
        }),
    temperature: (text) => clamp(Number(text) || 1, 0.05, 3),
    topK: (text) => Math.max(0, Number(text) || 0),
    topP: (text) => clamp(Number(text) || 1, 0.05, 1),
    sortBy: String,
    station: (text) => (text === '' ? null : Math.max(0, Number(text) || 0)),
    opened: (text) => text === 'true',
};

function rememberedText(value) {
    if (value === null) return '';
    if (Array.isArray(value))
        return value.map((side) => `${side.sentence},${side.layer},${side.head}`).join(';');
    if (value instanceof Set) return [...value].join(',');
    return typeof value === 'object' ? `${value.row},${value.column}` : String(value);
}

const usualState = {}; // as the page begins, which no address needs to say

function rememberState() {
    const words = new URLSearchParams();
    for (const name of Object.keys(REMEMBERED)) {
        const text = rememberedText(state[name]);
        if (text !== usualState[name]) words.set(name, text);
    }
    const hash = words.size ? `#${words}` : location.pathname + location.search;
    if (`#${words}` !== (location.hash || '#')) history.replaceState(null, '', hash);
}

function recallState() {
    const words = new URLSearchParams(location.hash.slice(1));
    for (const [name, read] of Object.entries(REMEMBERED))
        state[name] = read(words.get(name) ?? usualState[name]);
}

function listenToAddress() {
    for (const name of Object.keys(REMEMBERED)) usualState[name] = rememberedText(state[name]);
    recallState();
    window.addEventListener('hashchange', () => {
        recallState();
        draw();
    });
}
