// A live page: the engine runs the typed text, without the ablated heads.

const LIVE_PAUSE = 80; // milliseconds without a key before a long run
const LIVE_LONG = 50; // a run that takes more milliseconds waits for that pause

// --- the model in the page ---------------------------------------------------------------------

async function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
}

// Files of the model, each in parts: browsers limit the size of a text.
function heldFiles() {
    const files = new Map();
    for (const part of document.querySelectorAll('script.file')) {
        const { name } = part.dataset;
        files.set(name, [...(files.get(name) || []), bytesOf(part.textContent)]);
        part.remove();
    }
    return [...files];
}

// --- running -----------------------------------------------------------------------------------

// The sentence of a run, with the equivalent options of the command line.
function runSentence({ text, off, t }) {
    const places = off.map((name) => name.split('.'));
    const edits = places.map(([layer, head]) => `h.${layer}.context[head=${head}] = 0`).join('; ');
    const temperature = t === 1 ? 0 : t;
    const request = { show: live.show, edits, temperature, next: live.next };
    const sentence = new Sentence(JSON.parse(live.engine.run(text, request)));
    sentence.command = off.length ? ['--ablate', off.join(',')] : [];
    if (text === usual.text && !edits && !temperature) sentence.scores = live.scores;
    if (temperature) sentence.command.push('--attention-temperature', String(t));
    if (sentence.next) sentence.askSteps = () => askSteps(sentence, { ...request, text });
    return sentence;
}

// Predictions after each step take the longest: they follow when typing pauses.
function askSteps(sentence, { text, ...request }) {
    clearTimeout(live.steps);
    live.steps = setTimeout(() => {
        if (current() !== sentence || sentence.stepTokens) return;
        const { next } = JSON.parse(live.engine.run(text, { ...request, steps: true }));
        sentence.stepTokens = new NextTokens(next);
        drawLayers(sentence.stepTokens, currentCell().row);
    }, LIVE_PAUSE);
}

function runNow() {
    return { text: state.text, off: [...state.off].sort(), t: state.t };
}

// Run and draw. On failure show the error and keep the picture.
function runLive() {
    clearTimeout(live.waiting);
    const began = performance.now();
    const field = byId('text');
    const note = byId('live-note');
    try {
        sentences[state.sentence] = runSentence(runNow());
        field.removeAttribute('aria-invalid');
        state.runs = (state.runs || 0) + 1;
        draw(false);
        clearTimeout(live.remembering); // writing the address takes milliseconds
        live.remembering = setTimeout(rememberState, LIVE_PAUSE);
        live.took = performance.now() - began;
        note.textContent = `Updated in ${live.took.toFixed(0)} ms`;
        note.dataset.took = live.took;
    } catch (error) {
        field.setAttribute('aria-invalid', 'true');
        note.textContent = /empty/.test(error.message) ? 'Type some text to begin.' : error.message;
        announce(note.textContent);
        if (!/empty/.test(error.message)) console.debug(error.stack);
    }
    live.runs += 1;
    Object.assign(note.dataset, { text: state.text, runs: live.runs });
}

function typed() {
    state.text = byId('text').value;
    Object.assign(state, { kept: null, row: null, why: false });
    for (const timer of [live.waiting, live.steps, live.remembering]) clearTimeout(timer);
    live.waiting = setTimeout(runLive, live.took < LIVE_LONG ? 0 : LIVE_PAUSE);
}

// --- heads and the pin -------------------------------------------------------------------------

// Ablating the first head pins the run before it; the pin ends when no head is off.
function switchHeads(off) {
    if (!pinned) live.pin = pinRun();
    state.off = new Set(off);
    if (!off.length && state.pin === live.pin) unpin();
    runLive();
}

function switchHead(name) {
    const others = [...state.off].filter((one) => one !== name);
    switchHeads(state.off.has(name) ? others : [...others, name]);
}

function pinRun() {
    state.pin = runNow();
    pinned = current();
    return state.pin;
}

function isPinned() {
    return JSON.stringify(state.pin) === JSON.stringify(runNow());
}

// Pinning the pinned run removes the pin; another run replaces it.
function togglePin() {
    if (isPinned()) return unpin();
    pinRun();
    announce('Pinned');
    return set({ mode: 'auto' });
}

// --- beginning ---------------------------------------------------------------------------------

async function startLive() {
    const field = byId('text');
    field.hidden = false;
    live.scores = current().scores;
    usual.text = current().text;
    live.show = current().kinds.join(',');
    live.next = current().next ? current().next.layers.at(-1).count : 0;
    field.value = usual.text;
    try {
        const bytes = await unpacked(bytesOf(byId('engine').textContent));
        live.engine = await Engine.open(bytes, current().model, heldFiles());
    } catch (error) {
        byId('live-note').textContent = `This browser cannot run the engine: ${error.message}`;
        announce(byId('live-note').textContent);
        return;
    }
    field.disabled = false;
    field.addEventListener('input', typed);
    byId('t').addEventListener('input', () => {
        state.t = Number(byId('t').value);
        runLive();
    });
    byId('pin').addEventListener('click', togglePin);
    byId('all-on').addEventListener('click', () => switchHeads([]));
    runRecalled();
}
