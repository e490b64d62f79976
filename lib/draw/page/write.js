// The screen Write: append a predicted token or draw one, again and again; each step can be undone.
// A page without an engine goes along its own text instead.

const STEPS_TRIED = 20; // the last ones, which say what they used
const DRAW_FALLS = 600; // milliseconds until a drawn number has come to rest,
const DRAW_RESTS = 450; // and until its token is appended
const CHANCE_LEAST = 0.004; // of a token in the strip
const ADDED_MOST = 1000; // as in lib/live/live.c

const writing = {
    text: '', // that `next`, the next tokens (lib/live/live.h), belong to
    trials: new Map(), // of words of the text after each step: without.js
    shares: new Map(), // of the appended tokens, by the ids up to them
    looked: 0, // the token whose changes are shown
    mark: null, // a number that is drawn
    filled: [], // {before, after}: the text, for each mask
};

// Are tokens drawn as the model predicts them?
const isPlain = () => state.write.t === 1 && !state.write.k;

// --- the next tokens ---------------------------------------------------------------------------

// Of a page without an engine: those that it stores, after the selected row.
function storedNext() {
    const { t, k } = state.write;
    const likely = current().nextTokens.likeliest(selectedRow());
    const powers = likely.map(({ share }, rank) => {
        if (k && rank >= k) return 0;
        return t ? (share / likely[0].share) ** (1 / t) : Number(!rank);
    });
    const all = powers.reduce((sum, one) => sum + one, 0);
    const sum = isPlain() ? 1 / likely[0].share : all; // tokens that are not stored have the rest
    let start = 0;
    for (const [rank, one] of likely.entries()) {
        Object.assign(one, { chance: powers[rank] / sum, start });
        start += one.chance;
    }
    return { words: current().labels.sentence, likely, room: true };
}

function engineNext(ids) {
    const { t, k, seed, from } = state.write;
    const run = runNow(ids);
    const draws = { t, k, seed, index: Math.max(0, ids.length - from) };
    const request = { ...requestOf(run), ...draws };
    const next = JSON.parse(live.engine.next(run.text, request));
    for (const one of [...next.likely, next.drawn]) one.share = Math.exp(one.logprob);
    return next;
}

function findNext() {
    const { ids, from } = state.write;
    const run = live.engine && runNow();
    const text = JSON.stringify([run, state.sentence, selectedRow()]);
    if (text !== writing.text) Object.assign(writing, { text, looked: 0, said: '' });
    const of = JSON.stringify([{ ...run, added: null }, state.sentence]);
    if (of !== writing.of) Object.assign(writing, { of, trials: new Map(), shares: new Map() });
    const begins = JSON.stringify([state.text, ids.slice(0, from)]);
    if (live.engine && writing.begins !== begins)
        Object.assign(writing, { begins, start: engineNext(ids.slice(0, from)) });
    writing.next = live.engine ? engineNext(ids) : storedNext();
    waitForRest();
}

// The trial of the next token after some of the appended ones.
function trialAfter(ids, next = null) {
    const key = ids.join();
    if (!live.engine) return trialAtRow(current(), selectedRow());
    if (writing.trials.has(key)) return writing.trials.get(key);
    const { likely, words, weights = [], source_weights: ofSource = [] } = next || engineNext(ids);
    const run = runNow(ids);
    const ask = (at) => {
        const isSource = at < ofSource.length;
        const word = isSource ? at : at - ofSource.length;
        const without = live.engine.knockout(run.text, requestOf(run), word, isSource);
        return { shares: JSON.parse(without).map(Math.exp) };
    };
    const names = [...(current().labels.source || []), ...words];
    const trial = trialOf(words.at(-1), likely, names, [...ofSource, ...weights.slice(0, -1)], ask);
    writing.trials.set(key, trial);
    return trial;
}

// --- steps -------------------------------------------------------------------------------------

// Change the tokens, or how they are drawn. A new row of numbers begins, with another seed unless
// none of its numbers was used; a drawn token goes on with the numbers of its seed.
function setWrite(changes) {
    const { seed, from, ids } = state.write;
    const begins = { seed: seed + Number(ids.length > from), from: (changes.ids || ids).length };
    const place = changes.ids && { row: null, kept: null };
    const found = { write: { ...state.write, ...begins, ...changes }, ...place };
    stopFall();
    if (place && shownScreen().name !== 'write') return void runLive(found);
    Object.assign(state, found);
    live.stale ||= Boolean(place);
    drawWriting();
    if (place) showField(writing.next.text ?? writing.next.words.map(spaced).join(''));
    rememberState();
}

// Is a token the next one of a page that has no engine?
const follows = ({ name }) => name === writing.next.words[selectedRow() + 1];
const spaced = (label) => label.replaceAll('␣', ' ').replaceAll('↵', '\n');

function stopFall() {
    cancelAnimationFrame(writing.frame);
    Object.assign(writing, { rest: null, mark: null });
}

// `draws`: the seed of a drawn token, and where its numbers begin.
function append(one, draws = {}) {
    const { room, words } = writing.next;
    const { ids } = state.write;
    if (!one || (!live.engine && !follows(one))) return null;
    if (!live.engine) return selectRow(selectedRow() + 1);
    const name = quoted(shown(one.name));
    const [, ...refusal] = [
        [one.ends, '# ends the text: `generate` stops here.', quoted(one.name)],
        [!room, 'The context of the model is full: # tokens.', words.length],
        [ids.length >= ADDED_MOST, 'A page appends at most # tokens.', ADDED_MOST],
        [true],
    ].find(([is]) => is);
    if (refusal.length) {
        stopFall();
        writing.said = say(...refusal);
        return drawWriting();
    }
    writing.shares.set(`${[...ids, one.id]}`, one.share);
    setWrite({ ids: [...ids, one.id], ...draws });
    return announce(say('# appended. Next: #', name, shown(writing.next.likely[0].name)));
}

function undo(to = state.write.ids.length - 1) {
    if (!live.engine) return selectRow(Math.max(0, selectedRow() - 1));
    if (to >= 0) return setWrite({ ids: state.write.ids.slice(0, to) });
    if (writing.filled.at(-1)?.after !== byId('text').value) return null;
    byId('text').value = writing.filled.pop().before;
    return runLive();
}

// A number from 0 to 1 falls on the strip, where each token has its chance, in the order of ids.
function drawToken() {
    if (writing.rest) return writing.rest();
    const { drawn, u } = writing.next;
    const rest = () => {
        const { t, seed, from } = state.write;
        append(drawn, t ? { seed, from } : {});
    };
    if (calm.matches || !state.write.t) return rest();
    writing.rest = rest;
    const began = performance.now();
    const move = (now) => {
        if (now - began > DRAW_FALLS + DRAW_RESTS) return rest();
        const p = clamp((now - began) / DRAW_FALLS, 0, 1);
        const ease = 1 - (1 - p) ** 3;
        writing.mark = u * ease + (1 - p) * 0.5 * Math.abs(Math.sin(9 * p));
        drawMark();
        writing.frame = requestAnimationFrame(move);
        return null;
    };
    return move(began);
}

// --- which words it used -----------------------------------------------------------------------

// What is tried next: the words of the text, then the words of the texts before its last steps.
function nextTrial() {
    const { ids } = state.write;
    const first = Math.max(0, ids.length - STEPS_TRIED);
    for (let at = ids.length; at >= first; at--) {
        const trial = trialAfter(ids.slice(0, at));
        if (!isTried(trial)) return trial;
    }
    return null;
}

function drawUsed(looked = writing.looked) {
    const trial = trialAfter(state.write.ids, writing.next);
    writing.looked = looked;
    lightUsed(document.querySelectorAll('#writing .word'), trial, looked);
    byId('used').textContent = usedWords(trial, looked);
    byId('used-signs').textContent = trial?.turns.length ? USED_SIGNS : '';
}

// --- drawing -----------------------------------------------------------------------------------

// A word with room for a number below it; a button if it does something.
function wordElement(label, className = 'word', attributes = {}, act = null) {
    if (!act) return element('span', [shown(label), element('i')], className, attributes);
    const number = element('i', '', '', { 'aria-hidden': true });
    return buttonFor(act, [shown(label), number], className, attributes);
}

function putWords(box, labels, make) {
    const words = labels.flatMap((label, at) =>
        label.startsWith('␣') && label.length > 1 ? [' ', make(label, at)] : [make(label, at)],
    );
    box.replaceChildren(...words);
}

// The text; without an engine all of it, of which the words after the selected one follow.
function drawWritten() {
    const { words } = writing.next;
    const row = live.engine ? words.length - 1 : selectedRow();
    const fresh = words.length - state.write.ids.length;
    const box = byId('written');
    putWords(box, words, (name, at) => {
        const className = at > row ? 'word later' : at < fresh ? 'word' : 'word new';
        if (live.engine) return wordElement(name, className);
        const marks = { 'aria-pressed': at === row, 'data-at': at };
        return wordElement(name, className, marks, () => selectRow(at));
    });
    box.querySelectorAll('.word')[row].after(' ', element('span', '', 'slot'), ' ');
    if (!live.engine) rove(box, '.word');
    const { source = [] } = current().labels;
    byId('write-source').hidden = !source.length;
    putWords(byId('write-source'), source, (name) => wordElement(name));
}

function nextRow(_, at) {
    const button = buttonFor(appendBar(at), [
        element('kbd', (at + 1) % 10), element('b', '', '', { translate: 'no' }),
        ...[meter(0, { ghost: true }), element('span')],
    ], 'next');
    onPoint(button, (isOn) => drawUsed(isOn ? at : 0));
    return element('li', button);
}

// Solid: the chance to be drawn; dashed: the probability of the model.
function drawNext() {
    const box = byId('write-bars');
    const list = writing.next.likely.slice(0, BARS);
    const names = candidateNames(list);
    [...box.children].forEach((item, at) => {
        const one = list[at];
        item.hidden = !one;
        if (!one) return;
        const button = item.firstChild;
        const { chance, share } = one;
        const other = isPlain() || Math.abs(share - chance) < 0.002 ? null : share;
        setBar([...button.children].slice(1), { words: names[at], share: chance, other,
            text: chance ? percent(chance) : say('cut') });
        button.classList.toggle('cut', !chance);
        button.disabled = !live.engine && !follows(one);
        button.title = say(one.ends ? '# ends the text' : 'Append #', quoted(names[at]));
    });
    rove(box, '.next');
    const sum = list.reduce((all, one) => all + one.chance, 0);
    const held = 'outline: the model’s probability; these # hold #.';
    const words = [isPlain() ? 'These # hold #.' : held];
    if (list.some(({ name }) => name.includes('‿')))
        words.push('Tokens with ‿ are parts of a character.');
    const said = words.map((one) => say(one, list.length, percent(sum)));
    const { likely } = writing.next;
    const known = likely.reduce((all, { share }) => all + share, 0);
    if (!live.engine && !isPlain() && !state.write.k && state.write.t && known < 0.999)
        said.push(say('The page has only the # likeliest tokens: with the others, less.',
            likely.length));
    byId('write-held').textContent = said.join(' ');
}

function drawMark() {
    const mark = byId('chance-mark');
    mark.hidden = writing.mark === null;
    mark.style.left = `${100 * writing.mark}%`;
    mark.dataset.u = (writing.mark ?? 0).toFixed(2);
}

function drawStrip() {
    const large = writing.next.likely.filter(({ chance }) => chance > CHANCE_LEAST);
    const parts = large.map(({ name, chance, start }) => {
        const part = element('span', chance > 0.08 ? shown(name) : '');
        Object.assign(part.style, { left: `${100 * start}%`, width: `${100 * chance}%` });
        return part;
    });
    byId('chances').replaceChildren(...parts);
    drawMark();
}

function drawOptions() {
    const { t, k, seed, from, ids } = state.write;
    const most = writing.next.likely.length + 1; // all
    byId('write-k').max = most;
    for (const [name, value] of Object.entries({ t, k: k || most, seed }))
        byId(`write-${name}`).value = value;
    byId('write-t-value').textContent = t.toFixed(1);
    byId('write-k-value').textContent = k || say('all');
    byId('write-index').textContent = say('number #', ids.length - from + 1);
    const does = [
        [!t, 'Temperature 0: always the most likely token.'],
        [t < 1, 'Below 1: the likeliest tokens gain.'],
        [t > 1, 'Above 1: rare tokens gain.'],
        [k, 'Only the # likeliest can be drawn.'],
        [true, 'Temperature 1: as the model predicts.'],
    ];
    byId('write-does').textContent = say(does.find(([is]) => is)[1], k);
    for (const id of ['seed-row', 'steps-title']) byId(id).hidden = !live.engine;
    byId('draw').disabled = !live.engine;
    byId('append').disabled = !live.engine && !follows(writing.next.likely[0]);
    byId('undo').disabled = live.engine ? !ids.length : !selectedRow();
}

// What was appended, and the command that draws the same.
function drawSteps() {
    const { ids } = state.write;
    const labels = writing.next.words.slice(-ids.length).map(shown);
    const steps = ids.map((id, at) => {
        const title = say('Undo back to before #', quoted(labels[at]));
        const stays = { translate: 'no' };
        const trial = writing.trials.get(ids.slice(0, at).join());
        const rank = trial?.likely.findIndex((one) => one.id === id) ?? -1;
        const most = ids.length - at <= STEPS_TRIED && rank >= 0 && mostUsed(trial, rank);
        const used = most && say('← # # pt', isolated(shown(most.name)), signedText(most.by, 0));
        const share = writing.shares.get(`${ids.slice(0, at + 1)}`) ?? trial?.likely[rank]?.share;
        return element('li', buttonFor(() => undo(at), [
            element('b', labels[at], '', stays),
            share >= 0 && element('span', percent(share)),
            most && element('span', used, 'quiet', stays),
        ], 'back', { title }));
    });
    byId('write-steps').replaceChildren(...steps);
    byId('write-empty').hidden = ids.length > 0;
    const line = live.engine ? commandOfSteps() : commandOfLive();
    byId('write-empty').textContent = live.engine
        ? 'Click a token, or press its number, to append it. Click a step to go back to before it.'
        : say('This page can only go on with its own next word. ') + (line && say(TO_EDIT));
    byId('write-command').replaceChildren(line && commandLine(line));
}

// What makes a live page of one without an engine.
const TO_EDIT =
    'To edit the text or append any token, type this in a terminal, and open live.html:';

// Such a page runs one text on the unmodified model, which translates a source itself; '': it
// cannot show this text.
function commandOfLive() {
    const { command = [], files, model, source, text } = current();
    const at = command.indexOf('--source');
    if (files || (source ? at < 0 : text === undefined)) return '';
    const given = source ? { files: ['-m', model], command: command.slice(at, at + 2) }
        : { ...current(), command: [] };
    return commandOf(given, 'page', ['--live', '-o', 'live.html']);
}

function commandOfSteps() {
    const { t, k, seed, from, ids } = state.write;
    const words = ['-n', Math.max(1, ids.length - from)];
    if (t) words.push('--temperature', t, ...(k ? ['--top-k', k] : []), '--seed', seed);
    const begins = { model: current().model, ...writing.start, command: optionsOf(runNow()) };
    return commandOf(begins, 'generate', words);
}

function drawWriting() {
    byId('writing').classList.toggle('waits', !canGrow());
    if (!canGrow()) return;
    findNext();
    drawWritten();
    drawNext();
    drawStrip();
    drawOptions();
    drawSteps();
    drawUsed();
    byId('write-note').textContent = writing.said;
}

// A bar of the matrix: append its token after the last one, or put it in place of a mask.
function appendBarOf(name) {
    const { masks, opens, labels, classes } = current();
    const row = predictedRow(currentCell().row);
    if (classes || (!masks && (row !== opens || !canGrow()))) return;
    if (!masks) {
        findNext();
        return append(writing.next.likely.find((one) => one.name === name));
    }
    const before = byId('text').value;
    const parts = before.split(labels.sentence[row]);
    const at = masks.indexOf(row);
    if (at < 0 || parts.length !== masks.length + 1) return;
    const [start, rest] = parts.slice(at, at + 2);
    const isPart = name.startsWith('##'); // it continues a word
    const word = isPart ? start.trimEnd() + name.slice(2) : start + shown(name);
    parts.splice(at, 2, word + rest);
    const after = parts.join(labels.sentence[row]);
    byId('text').value = after;
    writing.filled.push({ before, after });
    runLive();
}

const whenGrowing = (act) => () => canGrow() && act();
const appendBar = (at) => whenGrowing(() => append(writing.next.likely[at]));

const writeText = ({ write: { t, k, seed, from, ids } }) =>
    [t, k, seed, from, ids.join('.')].join();

function readWrite(text) {
    const [t, k, seed, from, tokens] = text.split(',');
    const ids = toIds(tokens);
    const draws = { t: clamp(Number(t) || 0, 0, 3), k: toIndex(k), seed: toIndex(seed) };
    return { write: { ...draws, from: Math.min(toIndex(from), ids.length), ids } };
}

addScreen({
    ...{ name: 'write', title: 'Write', key: 'g' },
    parts: ['writing'],
    isAvailable: () => Boolean(shownTensor()) && predicts() && !current().masks,
    draw: drawWriting,
    highlight: drawWriting,
    focus: () => byId('written').focus(), // not a button, which would take Space and Enter
    trial: () => (canGrow() ? nextTrial() : null),
    tried() {
        drawUsed();
        drawSteps();
    },
    leave: stopFall,
    listen() {
        byId('write-bars').append(...Array.from({ length: BARS }, nextRow));
        on('append', 'click', appendBar(0));
        on('draw', 'click', drawToken);
        on('undo', 'click', () => undo());
        on('write-restore', 'click', () =>
            switchTo(new Set([...state.off].filter((name) => !stopsGrowth(name)))),
        );
        on('write-t', 'input', ({ target }) => setWrite({ t: Number(target.value) }));
        on('write-k', 'input', ({ target: { value, max } }) =>
            setWrite({ k: value === max ? 0 : Number(value) }),
        );
        on('write-seed', 'change', ({ target }) => setWrite({ seed: toIndex(target.value) }));
        const click = ({ target }) => {
            const row = live.engine && target.closest('#bars li');
            if (row) appendBarOf(row.dataset.name);
        };
        on('bars', 'click', click);
        on('bars', 'keydown', (event) => {
            if (event.key !== 'Enter') return;
            click(event);
            event.stopPropagation();
        });
        for (const event of ['keydown', 'pointerdown'])
            document.addEventListener(event, waitForRest, true);
    },
    keys: {
        ...Object.fromEntries([...'1234567890'].map((key, at) => [key, appendBar(at)])),
        ...{ Enter: appendBar(0), ' ': whenGrowing(() => live.engine && drawToken()) },
        Backspace: whenGrowing(() => undo()),
    },
    state: { write: { t: 1, k: 0, seed: 0, from: 0, ids: [] } },
    address: { write: [writeText, readWrite] },
});
