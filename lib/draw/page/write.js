// The screen Write: append a predicted token or draw one, again and again; each step can be undone.
// A page without an engine goes along its own text instead.

const WRITE_REST = 200; // milliseconds without a key before the engine leaves out words
const WORDS_LEFT_OUT = 100; // at most
const DRAW_FALLS = 600; // milliseconds until a drawn number has come to rest,
const DRAW_RESTS = 450; // and until its token is appended
const POINTS_LEAST = 0.5; // of a change that is shown
const CHANCE_LEAST = 0.004; // of a token in the strip
const ADDED_MOST = 1000; // as in lib/live/growing.c

// The next tokens of the shown text (lib/live/live.h), and what was known of each appended token.
const writing = {
    text: '',
    next: null,
    steps: [],
    start: null,
    used: [],
    looked: 0,
    mark: null,
    filled: [],
};

// --- the next tokens ---------------------------------------------------------------------------

// Of a page without an engine: those that it stores, after the selected row.
function storedNext() {
    const { t, k } = state.write;
    const likely = current().nextTokens.likeliest(selectedRow());
    const powers = likely.map(({ share }, rank) => {
        if (k && rank >= k) return 0;
        return t ? (share / likely[0].share) ** (1 / t) : Number(!rank);
    });
    const sum = powers.reduce((all, one) => all + one, 0);
    let start = 0;
    for (const [rank, one] of likely.entries()) {
        Object.assign(one, { chance: powers[rank] / sum, start });
        start += one.chance;
    }
    return { words: current().labels.sentence, likely };
}

function engineNext(ids) {
    const { t, k, seed, from } = state.write;
    const run = runNow();
    const draws = { t, k, seed, index: Math.max(0, ids.length - from) };
    const next = JSON.parse(
        live.engine.next(run.text, { ...requestOf(run), added: ids, ...draws }),
    );
    for (const one of [...next.likely, next.drawn]) one.share = Math.exp(one.logprob);
    return next;
}

function findNext() {
    const { ids, from } = state.write;
    const text = JSON.stringify(live.engine ? runNow() : [state.sentence, selectedRow()]);
    if (text !== writing.text) Object.assign(writing, { text, used: [], looked: 0, said: '' });
    const begins = JSON.stringify([state.text, ids.slice(0, from)]);
    if (live.engine && writing.start?.begins !== begins)
        writing.start = { begins, ...engineNext(ids.slice(0, from)) };
    writing.next = live.engine ? engineNext(ids) : storedNext();
    clearTimeout(writing.resting);
    if (live.engine && !writing.used.done) writing.resting = setTimeout(leaveOut, WRITE_REST);
}

// --- steps -------------------------------------------------------------------------------------

// Add tokens, or remove some. Drawn ones use the numbers of a seed in turn; after others a new row
// of numbers begins, with another seed unless none of its numbers was used.
function setIds(ids, isDrawn) {
    const { seed, from, ids: before } = state.write;
    const begins = { seed: seed + Number(before.length > from), from: ids.length };
    const write = { ...state.write, ...(isDrawn ? {} : begins), ids };
    Object.assign(writing, { mark: null, moving: 0 });
    if (shownScreen().name !== 'write') return runLive({ write, row: null, kept: null });
    Object.assign(state, { write, row: null, kept: null });
    live.stale = true;
    drawWriting();
    const { text, words } = writing.next;
    showField(text ?? words.map(spaced).join(''));
    return rememberState();
}

const spaced = (label) => label.replaceAll('␣', ' ').replaceAll('↵', '\n');

function append(one, isDrawn = false) {
    const { room, words } = writing.next;
    const { ids } = state.write;
    const refuse = (text, value) => {
        Object.assign(writing, { said: say(text, value), mark: null });
        drawWriting();
    };
    if (!live.engine) {
        const row = selectedRow();
        if (words[row + 1] === one.name) return selectRow(row + 1);
        return refuse('# does not follow in this text.', quoted(shown(one.name)));
    }
    if (one.ends) return refuse('# ends the text: `generate` stops here.', quoted(one.name));
    if (!room) return refuse('The context of the model is full: # tokens.', words.length);
    if (ids.length >= ADDED_MOST) return refuse('A page appends at most # tokens.', ADDED_MOST);
    writing.steps.length = ids.length;
    writing.steps.push({ ...one, most: mostUsed(one) });
    setIds([...ids, one.id], isDrawn);
    return announce(
        say('# appended. Next: #', quoted(shown(one.name)), shown(writing.next.likely[0].name)),
    );
}

function undo(to = state.write.ids.length - 1) {
    if (!live.engine) return selectRow(Math.max(0, selectedRow() - 1));
    if (to >= 0) return setIds(state.write.ids.slice(0, to));
    const [before, after] = writing.filled.at(-1) || [];
    if (!writing.filled.length || after !== byId('text').value) return null;
    writing.filled.pop(); // a mask that was filled
    byId('text').value = before;
    return runLive();
}

// A number from 0 to 1 falls on the strip, where each token has its chance, in the order of ids.
function drawToken() {
    const { drawn, u } = writing.next;
    const rest = () => {
        clearTimeout(writing.moving);
        cancelAnimationFrame(writing.frame);
        writing.rest = null;
        append(drawn, state.write.t > 0);
    };
    if (writing.rest) return writing.rest();
    const isCalm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (isCalm || !state.write.t) return rest();
    writing.rest = rest;
    const began = performance.now();
    const move = (now) => {
        const p = clamp((now - began) / DRAW_FALLS, 0, 1);
        const ease = 1 - (1 - p) ** 3;
        writing.mark = u * ease + (1 - p) * 0.5 * Math.abs(Math.sin(9 * p));
        drawMark();
        if (p < 1) writing.frame = requestAnimationFrame(move);
        else writing.moving = setTimeout(rest, DRAW_RESTS);
    };
    return move(began);
}

// --- which words it used -----------------------------------------------------------------------

// Ask for the next tokens without the key that is next in turn: strongest weight first.
function leaveOut() {
    const { next, used } = writing;
    const run = runNow();
    if (!used.turns) {
        const turns = (weights, ofSource) =>
            (weights || []).map((weight, key) => ({ weight, key, ofSource }));
        const own = turns(next.weights, false).slice(0, -1); // not the last token itself
        used.turns = [...own, ...turns(next.source_weights, true)]
            .sort((one, other) => other.weight - one.weight)
            .slice(0, WORDS_LEFT_OUT);
    }
    const turn = used.turns[used.length];
    used.done = !turn;
    if (turn) {
        const without = live.engine.knockout(run.text, requestOf(run), turn.key, turn.ofSource);
        const shares = JSON.parse(without).map(Math.exp);
        used.push({
            ...turn,
            points: next.likely.map((one, rank) => 100 * (shares[rank] - one.share)),
        });
        writing.resting = setTimeout(leaveOut);
    }
    drawUsed();
}

// The word without which a token loses most; null: none is needed, or not known.
function mostUsed({ id }) {
    const rank = writing.next.likely.findIndex((one) => one.id === id);
    let most = null;
    for (const { points, key, ofSource } of writing.used)
        if (points[rank] <= Math.min(-POINTS_LEAST, most?.by ?? 0))
            most = { by: points[rank], name: wordsIn(ofSource)[key] };
    return most;
}

const wordsIn = (ofSource) => (ofSource ? current().labels.source : writing.next.words);

function drawUsed() {
    const { next, used, looked } = writing;
    const one = next.likely[looked];
    const tone = new Tone(-100, 100, 'sqrt');
    for (const [id, ofSource] of [
        ['written', false],
        ['write-source', true],
    ])
        [...byId(id).querySelectorAll('.word')].forEach((word, at) => {
            const found = used.find((turn) => turn.key === at && turn.ofSource === ofSource);
            const by = found?.points[looked] ?? 0;
            const isUsed = Math.abs(by) >= POINTS_LEAST;
            const colour = tone.colour(isUsed ? -by : 0);
            word.style.background = isUsed ? css(colour) : '';
            word.style.color = isUsed ? inkOn(colour) : '';
            word.lastChild.textContent = isUsed ? signedText(by, by <= -10 ? 0 : 1) : '';
        });
    const most = mostUsed(one);
    const name = quoted(shown(one.name));
    const words = most
        ? say(
              '# uses # most: if the last token could not attend to it, # would lose # points.',
              name,
              quoted(shown(most.name)),
              name,
              Math.abs(most.by).toFixed(1),
          )
        : say('#: without any single earlier word it changes by less than half a point.', name);
    byId('used').textContent = used.done && used.length ? words : '';
}

// --- drawing -----------------------------------------------------------------------------------

function drawWords(box, labels, make) {
    const parts = labels.map((label, at) => {
        const word = make(shown(label), at);
        word.append(element('i'));
        return label.startsWith('␣') && label.length > 1 ? [' ', word] : [word];
    });
    box.replaceChildren(...parts.flat());
}

// The text; without an engine all of it, of which the words after the selected one follow.
function drawWritten() {
    const { words } = writing.next;
    const row = selectedRow();
    const fresh = words.length - state.write.ids.length;
    const box = byId('written');
    drawWords(box, words, (name, at) => {
        if (live.engine) return element('span', name, at < fresh ? 'word' : 'word new');
        const marks = { 'aria-pressed': at === row, 'data-at': at };
        return buttonFor(() => selectRow(at), name, at > row ? 'word later' : 'word', marks);
    });
    const slot = element('span', '', 'slot');
    if (live.engine) box.append(' ', slot);
    else box.querySelectorAll('.word')[row].after(' ', slot, ' ');
    if (!live.engine) rove(box, '.word');
    const { source = [] } = current().labels;
    byId('write-source').hidden = !source.length;
    drawWords(byId('write-source'), source, (name) => element('span', name, 'word'));
}

function nextRow() {
    const item = element('li');
    const button = buttonFor(() => append(item.one), '', 'next');
    const [key, name, value] = ['kbd', 'b', 'span'].map((one) => element(one));
    name.translate = false;
    button.append(key, name, meter(0, { ghost: 0 }), value);
    const look = (on) => () => {
        writing.looked = on ? [...item.parentElement.children].indexOf(item) : 0;
        drawUsed();
    };
    for (const event of ['mouseenter', 'focus']) button.addEventListener(event, look(true));
    for (const event of ['mouseleave', 'blur']) button.addEventListener(event, look(false));
    item.append(button);
    return item;
}

// Solid: the chance to be drawn; dashed: the probability of the model.
function drawNext() {
    const box = byId('write-bars');
    const list = writing.next.likely.slice(0, BARS);
    const names = candidateNames(list);
    while (box.children.length < BARS) box.append(nextRow());
    [...box.children].forEach((item, at) => {
        const one = list[at];
        item.hidden = !one;
        if (!one) return;
        item.one = one;
        const [key, name, track, value] = item.firstChild.children;
        const isCut = !one.chance;
        key.textContent = (at + 1) % 10;
        name.textContent = names[at];
        track.firstChild.style.width = `${100 * one.chance}%`;
        track.lastChild.style.width = `${100 * one.share}%`;
        track.lastChild.hidden = Math.abs(one.share - one.chance) < 0.002;
        value.textContent = isCut ? say('cut') : percent(one.chance);
        item.firstChild.classList.toggle('cut', isCut);
        const next = writing.next.words[selectedRow() + 1];
        item.firstChild.classList.toggle('missing', !live.engine && one.name !== next);
        item.firstChild.title = say(one.ends ? '# ends the text' : 'Append #', quoted(names[at]));
    });
    rove(box, '.next');
    const held = list.reduce((sum, one) => sum + one.share, 0);
    const parts = list.some(({ name }) => name.includes('‿'))
        ? ` ${say('Tokens with ‿ are parts of a character.')}`
        : '';
    byId('write-held').textContent =
        say('outline: the model’s probability; these # hold #.', list.length, percent(held)) +
        parts;
}

function drawMark() {
    const mark = byId('chance-mark');
    mark.hidden = writing.mark === null;
    mark.style.left = `${100 * writing.mark}%`;
    mark.dataset.u = (writing.mark ?? 0).toFixed(2);
}

function drawStrip() {
    const { likely } = writing.next;
    const large = likely.filter(({ chance }) => chance > CHANCE_LEAST);
    byId('chances').replaceChildren(
        ...large.map(({ name, chance, start }) => {
            const part = element('span', chance > 0.08 ? shown(name) : '');
            Object.assign(part.style, { left: `${100 * start}%`, width: `${100 * chance}%` });
            return part;
        }),
    );
    drawMark();
}

function drawOptions() {
    const { t, k, seed, from, ids } = state.write;
    const most = writing.next.likely.length + 1; // all
    byId('write-t').value = t;
    byId('write-t-value').textContent = t.toFixed(1);
    byId('write-k').max = most;
    byId('write-k').value = k || most;
    byId('write-k-value').textContent = k || say('all');
    byId('seed-row').hidden = !live.engine;
    byId('write-seed').value = seed;
    byId('write-index').textContent = say('number #', ids.length - from + 1);
    const does = [
        [!t, 'Temperature 0: always the most likely token.'],
        [t < 1, 'Below 1: the likeliest tokens gain.'],
        [t > 1, 'Above 1: rare tokens gain.'],
        [k, 'Only the # likeliest can be drawn.'],
        [true, 'Temperature 1: as the model predicts.'],
    ];
    byId('write-does').textContent = say(does.find(([is]) => is)[1], k);
}

// What was appended, and the command that draws the same.
function drawSteps() {
    const { t, k, seed, from, ids } = state.write;
    const { next, start, steps } = writing;
    const labels = next.words.slice(next.words.length - ids.length);
    byId('write-steps').replaceChildren(
        ...ids.map((id, at) => {
            const item = element('li');
            const name = shown(labels[at]);
            const step = steps[at]?.id === id ? steps[at] : null;
            const back = buttonFor(() => undo(at), '', 'back', {
                title: say('Undo back to before #', quoted(name)),
            });
            back.append(element('b', name, '', { translate: 'no' }));
            if (step) back.append(element('span', percent(step.share)));
            if (step?.most)
                back.append(
                    element(
                        'span',
                        say('← # # pt', shown(step.most.name), signedText(step.most.by, 0)),
                        'quiet',
                        { translate: 'no' },
                    ),
                );
            item.append(back);
            return item;
        }),
    );
    byId('steps-title').hidden = !live.engine;
    byId('write-empty').hidden = ids.length > 0;
    byId('write-empty').textContent = live.engine
        ? 'Click a token, or press its number, to append it. Click a step to go back to before it.'
        : 'This page follows its text. A live page appends any token:';
    byId('draw').disabled = !live.engine;
    byId('undo').disabled = live.engine ? !ids.length : !selectedRow();
    const options = t
        ? ['--temperature', String(t), ...(k ? ['--top-k', String(k)] : []), '--seed', String(seed)]
        : [];
    const words = live.engine
        ? ['generate', ['-n', String(Math.max(1, ids.length - from)), ...options]]
        : ['page', ['--live', '-o', 'live.html']];
    const of = live.engine
        ? { model: current().model, ...start, command: optionsOf(runNow()) }
        : current();
    byId('write-command').replaceChildren(commandLine(commandOf(of, ...words)));
}

function drawWriting() {
    findNext();
    drawWritten();
    drawNext();
    drawStrip();
    drawOptions();
    drawSteps();
    drawUsed();
    byId('write-note').textContent = writing.said || '';
}

function setOptions(changes) {
    const { seed, from, ids } = state.write;
    const begins = { seed: seed + Number(ids.length > from), from: ids.length };
    state.write = { ...state.write, ...begins, ...changes };
    writing.mark = null;
    drawWriting();
    rememberState();
}

function readWrite(text) {
    const [t, k, seed, from, ids] = text.split(',');
    const read = { t: clamp(Number(t) || 0, 0, 3), ids: toIds(ids) };
    return {
        ...read,
        k: toIndex(k),
        seed: toIndex(seed),
        from: Math.min(toIndex(from), read.ids.length),
    };
}

function writeText() {
    const { t, k, seed, from, ids } = state.write;
    const text = [t, k, seed, from, ids.join('.')].join();
    return JSON.stringify(state.write) === JSON.stringify(usual.write) ? '' : text;
}

// A bar of the matrix: append its token after the last one, or put it in place of a mask.
function appendBarOf(name) {
    const { masks, opens, labels, classes } = current();
    const row = predictedRow(currentCell().row);
    if (classes || (!masks && row !== opens)) return;
    if (!masks) {
        findNext();
        return append(writing.next.likely.find((one) => one.name === name));
    }
    const field = byId('text');
    const before = field.value;
    const parts = before.split(labels.sentence[row]);
    const at = masks.indexOf(row) + 1;
    if (at < 1 || parts.length !== masks.length + 1) return;
    const [first, rest] = [parts.slice(0, at), parts.slice(at)];
    const isPart = name.startsWith('##'); // it continues a word
    const start = first.join(labels.sentence[row]);
    field.value =
        (isPart ? start.trimEnd() + name.slice(2) : start + shown(name)) +
        rest.join(labels.sentence[row]);
    writing.filled.push([before, field.value]);
    runLive();
}

const appendBar = (at) => () => append(writing.next.likely[at]);

addScreen({
    ...{ name: 'write', title: 'Write', key: 'g' },
    parts: ['writing'],
    isAvailable: () => Boolean(shownTensor()) && predicts() && !current().masks,
    draw: drawWriting,
    highlight: drawWriting,
    focus: () => byId('write-bars').querySelector('[tabindex="0"]').focus(),
    leave: () => clearTimeout(writing.resting),
    listen() {
        byId('append').addEventListener('click', appendBar(0));
        byId('draw').addEventListener('click', drawToken);
        byId('undo').addEventListener('click', () => undo());
        byId('write-t').addEventListener('input', ({ target }) =>
            setOptions({ t: Number(target.value) }),
        );
        byId('write-k').addEventListener('input', ({ target }) =>
            setOptions({ k: target.value === target.max ? 0 : Number(target.value) }),
        );
        byId('write-seed').addEventListener('change', ({ target }) =>
            setOptions({ seed: toIndex(target.value) }),
        );
        const click = ({ target }) => {
            const row = live.engine && target.closest('#bars li');
            if (row) appendBarOf(row.dataset.name);
        };
        byId('bars').addEventListener('click', click);
        byId('bars').addEventListener('keydown', (event) => event.key === 'Enter' && click(event));
        byId('bars').classList.toggle('appends', Boolean(byId('engine')));
        // any key stops leaving words out, until the keys rest
        for (const event of ['keydown', 'pointerdown'])
            document.addEventListener(
                event,
                () => {
                    if (shownScreen().name !== 'write' || !live.engine || writing.used.done) return;
                    clearTimeout(writing.resting);
                    writing.resting = setTimeout(leaveOut, WRITE_REST);
                },
                true,
            );
    },
    keys: {
        ...Object.fromEntries([...'1234567890'].map((key, at) => [key, appendBar(at)])),
        ...{ Enter: appendBar(0), ' ': () => live.engine && drawToken(), Backspace: () => undo() },
    },
    state: { write: { t: 1, k: 0, seed: 0, from: 0, ids: [] } },
    address: { write: [writeText, readWrite] },
});
