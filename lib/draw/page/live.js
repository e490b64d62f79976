// A live page: the engine runs the typed text, without the ablated heads.

const LIVE_PAUSE = 80; // milliseconds without a key before a long run
const LIVE_LONG = 120; // a run that takes more milliseconds waits for that pause
const LIVE_SLOW = 200; // if runs take more, predictions after each step wait for LIVE_REST
const LIVE_REST = 500; // and are those of the selected token alone
const LIVE_LEAST = 100; // between two runs: browsers refuse more addresses
const EFFECTS_MOST = 500; // milliseconds for runs without each head

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

// A run as the engine's request. `added`: ids of tokens after the text, which write.js chose.
function requestOf({ added, off, t }) {
    const temperature = t === 1 ? 0 : t;
    switchParts(off);
    return { added, show: live.show, edits: editsOf(off), temperature, next: live.next };
}

// What the engine says about a run; `steps`: also predictions after each step, of `token` or all.
function ask(run, steps = false, token = -1) {
    return JSON.parse(live.engine.run(run.text, { ...requestOf(run), steps, token }));
}

// The equivalent options of the command line.
function optionsOf({ text, off, t }) {
    const options = live.translates ? ['--source', text] : [];
    options.push(...optionsOfOff(off));
    return t === 1 ? options : [...options, '--attention-temperature', String(t)];
}

// Other tensors of a run, without predictions; `layer`: of this one alone.
function askTensors(run, show, layer) {
    return JSON.parse(live.engine.run(run.text, { ...requestOf(run), show, layer, next: 0 }));
}

// What stands out in a text without switches; kept, as switches do not change it.
function findingsOf({ text, added }) {
    const asked = JSON.stringify([text, added]);
    if (live.found?.asked !== asked) {
        switchParts([]);
        live.found = { asked, ...JSON.parse(live.engine.findings(text, { added })) };
    }
    const { findings, predicts } = live.found;
    return { findings, predicts };
}

// The sentence of a run, with the equivalent options of the command line.
function runSentence(run) {
    const began = performance.now();
    const sentence = new Sentence(ask(run, live.whole));
    Object.assign(sentence, { request: run, whole: live.whole, untrained: live.untrained });
    live.ran = performance.now() - began;
    live.whole = live.ran < LIVE_SLOW;
    sentence.command = optionsOf(run);
    Object.assign(sentence, findingsOf(run));
    live.prompt = { text: run.text, tokens: sentence.labels.sentence.length - run.added.length };
    const isFirst = run.text === usual.text && `${run.added}` === `${usual.write.ids}`;
    if (isFirst && !run.off.length && run.t === 1) Object.assign(sentence, live.known);
    return sentence;
}

// The token that lacks its predictions after each step, or -1.
function tokenWithoutSteps({ nextTokens, stepsOf, whole }) {
    const token = predictedRow(selectedRow());
    const lacks = nextTokens && whole === false && token !== stepsOf;
    return lacks && live.steps !== false ? token : -1;
}

// Slower parts follow when typing pauses, one at a time. They belong to the sentence, and
// are drawn with it or not at all.
function complete(sentence, pause = sentence.whole === false ? LIVE_REST : LIVE_PAUSE) {
    clearTimeout(live.later);
    live.later = setTimeout(() => {
        if (current() === sentence && addPart(sentence)) complete(sentence, 0);
    }, pause);
}

// Add the predictions after each step, then the effects of heads; false if nothing is missing.
function addPart(sentence) {
    const run = sentence.request;
    if (!sentence.nextTokens) return false;
    const token = tokenWithoutSteps(sentence);
    if (token >= 0) {
        const { next } = ask(run, true, token);
        Object.assign(sentence, { next, madeNext: null, stepsOf: token });
        live.steps = next.layers.length > 1;
        predicted = '';
        highlight();
        return true;
    }
    const heads = headsOf(sentence, 'weights').filter(({ tensor }) => !tensor.isMixer);
    const without = (sentence.partial ??= []);
    const isMuch = heads.length * live.ran > EFFECTS_MOST;
    if (sentence.effects || run.off.length || !heads.length || isMuch) return false;
    const [winner] = sentence.nextTokens.likeliest(sentence.opens);
    const next = new NextTokens(ask({ ...run, off: [heads[without.length].switchName] }).next);
    without.push(next.shareOf(winner.id, sentence.opens));
    if (without.length < heads.length) return true;
    const most = sentence.attention.heads;
    sentence.effects = [];
    heads.forEach(({ tensor: { layer, heads: list }, head }, at) => {
        sentence.effects[layer * most + list[head]] = without[at];
    });
    drawRoles();
    return false;
}

function runNow(added = state.write.ids) {
    const { text, t } = state;
    const tokens = live.prompt.text === text ? live.prompt.tokens + added.length : Infinity;
    const off = [...state.off].filter((name) => !isArrowBeyond(name, tokens)).sort();
    return { text, added, off, t };
}

// A new text ends what was switched by itself to compare, or renews it.
function renewPin() {
    const isSwitched = state.off.size || state.t !== 1;
    live.pin = isSwitched ? { ...runNow(), off: [], t: 1 } : null;
    state.pin = live.pin;
    pinned = isSwitched ? runSentence(live.pin) : null;
}

// Run the text of the field, and replace state and picture together. If it cannot run or be drawn,
// both stay as they are, greyed below the message.
function runLive(changes = {}) {
    clearTimeout(live.waiting);
    const began = performance.now();
    const text = byId('text').value;
    const before = { ...state };
    const off = new Set([...state.off].filter((name) => !ARROW.test(name))); // of the text before
    const typed = { text, off, write: { ...state.write, ids: [], from: 0 } };
    const other = text === live.field ? {} : { ...typed, kept: null, row: null, why: false };
    const was = current();
    const pins = [live.pin, pinned];
    let sentence = null;
    Object.assign(state, other, changes);
    try {
        if (other.write && !changes.write && live.translates) translate();
        if (other.text !== undefined && !('pin' in changes) && state.pin && state.pin === live.pin)
            renewPin();
        const run = runNow();
        sentence = runSentence(run);
        const isOther = other.text !== undefined ||
            sentence.labels.sentence.join() !== was.labels.sentence.join();
        const isNew = isOther && opensAnew(changes, before, was);
        if (!isOther)
            Object.assign(sentence, { openedHead: was.openedHead, opensAt: was.opensAt });
        sentences[state.sentence] = sentence;
        if (isNew) openHead();
        const isSelected = before.row !== null || before.kept;
        if (other.text !== undefined && (isSelected || !isNew)) keepQuery(sentence, was, before);
        live.stale = false;
        showField(run.added.length ? (sentence.text ?? sentence.title) : text);
        complain('');
    } catch (error) {
        Object.assign(state, before);
        [live.pin, pinned] = pins;
        complain(/empty/.test(error.message) ? 'Type some text to begin.' : error.message);
    }
    const note = byId('live-note');
    if (sentence && !showRun(before, was)) sentence = null;
    if (sentence) {
        live.drawn = performance.now();
        live.took = live.drawn - began;
        note.textContent = `Updated in ${live.took.toFixed(0)} ms`;
        note.dataset.took = live.took;
        complete(sentence);
    }
    live.runs += 1;
    Object.assign(note.dataset, { text, runs: live.runs });
    return Boolean(sentence);
}

// Draw a run; if that fails, the state and the sentence before it again, and tell it.
function showRun(before, was) {
    state.runs += 1;
    try {
        draw();
        return true;
    } catch (error) {
        Object.assign(state, before);
        sentences[state.sentence] = was;
        reportError(error);
    }
    try {
        draw();
    } catch {
        // what could not be drawn is grey, below the message of the first error
    }
    return false;
}

// An error of a script: nothing that is shown may look as if it had been updated.
function tellFailure({ error, reason = error, message = reason }) {
    complain(say('This page failed: #', reason?.message ?? message));
}

// Does a new text open on the head that stands out in it: unless another one is selected, here or
// in the address?
const opensAnew = ({ isNamed = null }, before, was) =>
    (isNamed === null ? was.openedHead === `${before.layer} ${before.head}` : !isNamed);

// A text that is edited keeps its selected word, if it is still there; else the page opens anew.
function keepQuery(now, was, { kept, row }) {
    const isSame = now.text === was.text || !was.nextTokens;
    const at = kept?.row ?? row ?? (isSame ? was.opensAt : undefined);
    const [words, old] = [now, was].map(({ labels }) => labels.sentence || []);
    const places = [at, at + words.length - old.length, words.lastIndexOf(old[at])];
    const found = at === was.opens ? undefined : places.find((one) => words[one] === old[at]);
    if (at === undefined || !(found >= 0)) return;
    now.opensAt = found;
    if (kept || row !== null) state.row ??= found;
}

// The field has the text with the tokens that were added, on one line.
function showField(text) {
    byId('text').value = (live.translates ? state.text : text).replaceAll('\n', ' ');
    live.field = byId('text').value;
}

// The most likely tokens, one after another, up to the end: a translation of the typed source. On
// the screen Write it begins empty.
function translate() {
    const ids = [];
    if (shownScreen().name === 'write') return;
    state.write = { ...state.write, t: 0 };
    for (let next = engineNext(ids); !next.drawn.ends && next.room && ids.length < 200; ) {
        ids.push(next.drawn.id);
        next = engineNext(ids);
    }
    state.write = { ...usual.write, ids, from: ids.length };
}

// Write.js adds tokens without a whole run: run it before something else than that screen is drawn.
function refreshLive() {
    const sentence = runSentence(runNow());
    const opens = isOpenedHead();
    sentences[state.sentence] = sentence;
    if (opens) openHead();
    live.stale = false;
    state.runs += 1;
    complete(sentence);
}

// Grey the results of another text than the one in the field.
function markStale(stale) {
    document.body.classList.toggle('stale', stale);
    byId('workbench').setAttribute('aria-busy', stale);
}

// The message below the field, and the results of the text before it in grey.
function complain(message) {
    const isWrong = Boolean(message && live.engine);
    if (message) announce(message);
    byId('text-error').textContent = message;
    if (isWrong) byId('live-note').textContent = '';
    markStale(isWrong);
    if (isWrong) byId('text').setAttribute('aria-invalid', 'true');
    else byId('text').removeAttribute('aria-invalid');
}

// Run before the next frame. If runs are slow, or so frequent that browsers would refuse to write
// addresses, run later; until then the results are grey.
function typed() {
    clearTimeout(live.waiting);
    const rest = live.drawn + LIVE_LEAST - performance.now();
    const isQuick = live.took < LIVE_LONG;
    if (isQuick && rest <= 0) return void runLive();
    markStale(true);
    live.waiting = setTimeout(runLive, isQuick ? rest : LIVE_PAUSE);
    return complete(current());
}

// --- the pin -----------------------------------------------------------------------------------

function pinRun() {
    if (live.stale) refreshLive();
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
    return set({});
}

// --- beginning ---------------------------------------------------------------------------------

async function startLive() {
    const field = byId('text');
    field.hidden = false;
    const { scores, effects, untrained } = current();
    Object.assign(live, { known: { scores, effects }, untrained });
    live.translates = Boolean(current().source);
    usual.text = current().text;
    if (live.translates) {
        const ids = current().ids.slice(1); // after the beginning token
        usual.text = current().command[1]; // --source
        usual.write = { ...usual.write, ids, from: ids.length };
    }
    live.show = [...new Set(current().tensors.map((one) => one.tensor))].join(',');
    live.next = current().next ? current().next.layers.at(-1).count : 0;
    live.whole = current().next?.layers.length > 1;
    live.steps = live.whole || null; // not known yet
    field.value = live.field = usual.text;
    try {
        const bytes = await unpacked(bytesOf(byId('engine').textContent));
        live.engine = await Engine.open(bytes, current().model, heldFiles());
    } catch (error) {
        return void complain(`This browser cannot run the engine: ${error.message}`);
    }
    field.disabled = false;
    for (const name of ['error', 'unhandledrejection']) window.addEventListener(name, tellFailure);
    field.addEventListener('input', typed);
    live.has = partsOfModel();
    listenToSwitches();
    runRecalled();
}
