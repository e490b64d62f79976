// A live page: a text that is typed, heads that are switched off and a temperature, each looked at
// anew by the engine that the page holds.

const LIVE_AT_ONCE = 50; // milliseconds of the last run: what takes longer waits for a pause
const LIVE_PAUSE = 300;

const live = { engine: null, off: new Map(), waiting: 0, took: 0, runs: 0 };

// --- what the page holds ---------------------------------------------------------------------

function bytesOf(element) {
    const text = element.textContent;
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
}

// Files of the model, each in parts: a text in a page has a largest size.
function heldFiles() {
    const files = new Map();
    for (const part of document.querySelectorAll('script.file')) {
        const { name } = part.dataset;
        files.set(name, [...(files.get(name) || []), bytesOf(part)]);
        part.remove();
    }
    return [...files];
}

// --- running ---------------------------------------------------------------------------------

// What comes next takes as long as all else: it is asked for where it is looked at.
class LiveSentence extends Sentence {
    constructor(look) {
        super(look(0));
        this.look = look;
        this.layersTold = live.next ? 1 : 0;
    }

    get nextTokens() {
        this.next ??= this.look(live.next).next;
        return super.nextTokens;
    }
}

function runLive() {
    const began = performance.now();
    const text = byId('live-text').value;
    const note = byId('live-note');
    const warmth = Number(byId('live-temperature').value);
    const edits = [...live.off.values()].join('; ');
    const temperature = warmth === 1 ? 0 : warmth;
    const look = (next) =>
        JSON.parse(live.engine.run(text, { show: live.show, edits, temperature, next }));
    try {
        sentences[state.sentence] = new LiveSentence(look);
        extents.clear(); // of the one before
        byId('live-text').removeAttribute('aria-invalid');
        Object.assign(state, { kept: null, token: null });
        draw();
        live.took = performance.now() - began;
        note.textContent = `${live.took.toFixed(1)} ms`;
    } catch (error) {
        byId('live-text').setAttribute('aria-invalid', 'true');
        note.textContent = error.message;
    }
    live.runs += 1;
    Object.assign(note.dataset, { text, runs: live.runs });
    showLiveWords();
}

function askLive() {
    clearTimeout(live.waiting);
    if (live.took < LIVE_AT_ONCE) runLive();
    else live.waiting = setTimeout(runLive, LIVE_PAUSE);
}

// --- heads -----------------------------------------------------------------------------------

function showLiveOff() {
    const list = byId('live-off');
    list.replaceChildren();
    for (const name of live.off.keys()) {
        const title = 'Switch it on again';
        list.append(buttonFor(() => switchHead(name), `${name} off`, '', { title }));
    }
}

function switchHead(name, edit) {
    if (!live.off.delete(name)) live.off.set(name, edit);
    showLiveOff();
    askLive();
}

// The head that is shown, of the tensors that have any.
function switchShown() {
    const tensor = shownTensor();
    if (!tensor.heads || tensor.layer === null || state.head === 'mean') return;
    const head = tensor.heads[state.head];
    switchHead(`${tensor.layer}.${head}`, `h.${tensor.layer}.context[head=${head}] = 0`);
}

// --- words -----------------------------------------------------------------------------------

function wordsOf(text) {
    return [...text.matchAll(/\S+/g)].map((match) => ({ at: match.index, text: match[0] }));
}

function showLiveWords() {
    const words = wordsOf(byId('live-text').value);
    for (const [id, usual] of [
        ['live-one', 0],
        ['live-other', 1],
    ]) {
        const field = byId(id);
        const chosen = field.options.length ? field.selectedIndex : usual;
        field.replaceChildren(...words.map((word, at) => new Option(word.text, at)));
        field.selectedIndex = Math.min(chosen, words.length - 1);
    }
    byId('live-swap').disabled = words.length < 2;
}

function swapWords() {
    const field = byId('live-text');
    const words = wordsOf(field.value);
    const [one, other] = ['live-one', 'live-other']
        .map((id) => words[byId(id).selectedIndex])
        .sort((a, b) => a.at - b.at);
    field.value =
        field.value.slice(0, one.at) +
        other.text +
        field.value.slice(one.at + one.text.length, other.at) +
        one.text +
        field.value.slice(other.at + other.text.length);
    askLive();
}

// --- beginning -------------------------------------------------------------------------------

async function startLive() {
    const module = byId('engine');
    if (!module) return;
    byId('live').hidden = false;
    byId('live-text').value = current().text;
    live.show = current().kinds.join(',');
    live.next = current().next ? current().next.layers.at(-1).count : 0;
    try {
        const bytes = await unpacked(bytesOf(module));
        live.engine = await Engine.open(bytes, current().model, heldFiles());
    } catch (error) {
        byId('live-note').textContent = `This browser cannot run the engine: ${error.message}`;
        return;
    }
    byId('live-text').addEventListener('input', askLive);
    byId('live-temperature').addEventListener('input', () => {
        byId('live-warmth').textContent = byId('live-temperature').value;
        askLive();
    });
    byId('live-head').addEventListener('click', switchShown);
    byId('live-swap').addEventListener('click', swapWords);
    for (const field of document.querySelectorAll('#live [disabled]')) field.disabled = false;
    runLive();
}

startLive();
