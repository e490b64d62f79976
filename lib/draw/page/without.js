// How a prediction depends on each earlier word: how its probability changes if its token cannot
// attend to the word, as with --knockout. Words are tried one at a time, while no key is pressed.

const TRY_REST = 200; // milliseconds without a key before words are tried
const WORDS_TRIED = 100; // at most, those with the largest weights
const POINTS_LEAST = 0.5; // of a change that is shown
const HELD_WHERE = 'The page holds this for #. Here, for one word:';
const HELD_NOWHERE = 'The page does not hold this. For one word:';
const NO_PROOF = 'A small number is no proof that a word is not needed: another may say the same.';
const USED_SIGNS =
    'On the words: points of probability. − (orange): lost without the word, + (blue): gained.';

// `likely`: tokens with their probabilities at the query; `names` and `weights` of all words;
// `ask(at)`: without a word, these probabilities (`shares`) and the name of the token that is then
// the most likely one (`top`; undefined: not known). The query itself is not tried.
function trialOf(query, likely, names, weights, ask) {
    const turns = names
        .map((name, at) => ({ name, at, weight: weights[at] }))
        .filter(({ weight }) => Number.isFinite(weight))
        .sort((one, other) => other.weight - one.weight)
        .slice(0, WORDS_TRIED);
    return { query, likely, turns, ask };
}

const isTried = ({ turns }) => turns.every(({ points }) => points);

function tryWord({ likely, turns, ask }) {
    const turn = turns.find(({ points }) => !points);
    const { shares, top } = ask(turn.at);
    turn.points = likely.map(({ share }, rank) => 100 * (shares[rank] - share));
    turn.top = top;
}

// The word without which a token loses most; undefined: none is needed, or not all are tried.
function mostUsed(trial, rank) {
    const losses = trial.turns.map(({ name, points, top }) => ({ name, top, by: points?.[rank] }));
    const [most] = losses.sort((one, other) => one.by - other.by);
    return isTried(trial) && most?.by <= -POINTS_LEAST ? most : undefined;
}

// Numbers on the words: first the words of the source, then of the text.
function lightUsed(words, trial, rank) {
    const tone = new Tone(-100, 100, 'sqrt');
    words.forEach((word, at) => {
        const by = trial?.turns.find((turn) => turn.at === at)?.points?.[rank] ?? 0;
        const isUsed = Math.abs(by) >= POINTS_LEAST;
        fillWith(word, isUsed ? tone.colour(by) : null);
        word.lastChild.textContent = isUsed ? signedText(by, by <= -10 ? 0 : 1) : '';
    });
}

function usedWords(trial, rank) {
    if (!trial?.turns.length || !isTried(trial) || !trial.likely[rank]) return '';
    const name = quoted(shown(trial.likely[rank].name));
    const most = mostUsed(trial, rank);
    if (!most)
        return say('#: without any single earlier word it changes by less than half a point.',
            name);
    const words = '# uses # most: if # could not attend to it, # would lose # points.';
    const values = [quoted(shown(most.name)), quoted(shown(trial.query)), name];
    const told = say(words, name, ...values, Math.abs(most.by).toFixed(1));
    const then = rank ? '' : topWords(most.top, trial.likely[0].name);
    return [told, then].filter(Boolean).join(isChinese() ? '' : ' ');
}

// What the model says without a word, against what it says with it; '': it is not known.
function topWords(top, name) {
    if (!top) return '';
    const [then, now] = [top, name].map((one) => quoted(shown(one)));
    return top === name ? say('# would stay the most likely token.', now)
        : say('The model would say # in place of #.', then, now);
}

// Before and after, in a page without an engine: the prediction where it opens, if its token could
// not look at the word of a cell.
function heldEffect({ row, column }) {
    const { without, without_top: tops, opens, labels, nextTokens } = current();
    const { row_labels: rows, column_labels: columns } = shownTensor();
    const at = column + (columns === 'sentence' ? (labels.source || []).length : 0);
    const query = quoted(shown(labels.sentence[opens]));
    const isOfWords = rows === 'sentence' && ['sentence', 'source'].includes(columns);
    const isAsked = hovered?.column !== undefined || state.kept; // else the finding says it
    const isTried = isAsked && isOfWords && row === opens && Number.isFinite(without[at] ?? NaN);
    if (!isTried)
        return [say('Point at a cell of the row #: the prediction without its word is shown here.',
            query)];
    const [best] = nextTokens.likeliest(opens);
    const key = quoted(shown(labels[columns][column]));
    const shares = [best.share, without[at]].map(roundShare);
    const name = quoted(shown(best.name));
    const words = say('If # could not look at #: # # → #.', query, key, name, ...shares);
    return [words, isChinese() ? '' : ' ', topWords(tops?.[at], best.name)];
}

// Does a page without an engine hold the prediction without each word, and show these words?
function holdsEffects({ without, nextTokens, tokens, labels } = current()) {
    const isWhole = tokens?.[0] === labels.sentence?.length;
    return !byId('engine') && isWhole && Boolean(without && nextTokens);
}

// --- below the prediction ----------------------------------------------------------------------

// The trial of the prediction at a row, which the page holds or its engine makes; null: none.
function trialAtRow(sentence, row) {
    const { source = [], sentence: words } = sentence.labels;
    const [best] = sentence.nextTokens.likeliest(row);
    const run = live.engine && sentence.request;
    const isHeld = sentence.without && row === sentence.opens;
    if (sentence.tokens[0] !== words.length || !(run || isHeld)) return null;
    const isSeen = (at) => at !== row && (sentence.masks || at < row);
    const weights = words.map((_, at) => (isSeen(at) ? at : NaN));
    const ask = (at) => {
        if (isHeld) return { shares: [sentence.without[at]], top: sentence.without_top?.[at] };
        const key = at - source.length;
        const cell = key < 0 ? `cross_masked[query=${row},key=${at}]`
            : `masked[query=${row},key=${key}]`;
        const edits = [editsOf(run.off), `${cell} = -1e30`].filter(Boolean).join('; ');
        const { next } = JSON.parse(live.engine.run(run.text, { ...requestOf(run), edits }));
        const others = new NextTokens(next);
        return { shares: [others.shareOf(best.id, row)], top: others.likeliest(row)[0].name };
    };
    const [names, all] = [[...source, ...words], [...source.map(() => 1), ...weights]];
    const trial = trialOf(words[row], [best], names, all, ask);
    while (isHeld && !isTried(trial)) tryWord(trial);
    return trial;
}

let fold = null; // the trial that is shown there

function drawWithout(row) {
    const box = byId('without');
    const { command, sites } = current(); // --knockout needs dense attention
    const isDense = sites?.includes('masked') && !command?.includes('--attention');
    box.hidden = state.lesson || !isDense;
    if (row !== undefined) box.dataset.row = row;
    const parts = box.lastElementChild;
    parts.replaceChildren();
    fold = null;
    if (!box.open || box.hidden) return;
    const sentence = current();
    const query = Number(box.dataset.row);
    fold = trialAtRow(sentence, query);
    if (!fold) {
        const knockout = `--knockout=${query}:${Math.max(0, query - 1)}`;
        const held = quoted(shown(sentence.labels.sentence[sentence.opens]));
        const said = element('p', say(sentence.without ? HELD_WHERE : HELD_NOWHERE, held));
        parts.append(said, commandLine(commandOf(sentence, 'lens', [knockout])));
        return;
    }
    const line = element('p', '', 'strip', { translate: 'no' });
    const { source = [], sentence: words } = sentence.labels;
    putWords(line, [...source, ...words], (name) => wordElement(name));
    parts.append(element('p', NO_PROOF), element('p', USED_SIGNS, 'quiet'), line, element('p'));
    lightFold();
    waitForRest();
}

function lightFold() {
    const parts = byId('without').lastElementChild;
    lightUsed(parts.querySelectorAll('.word'), fold, 0);
    parts.lastElementChild.textContent = usedWords(fold, 0);
}

// --- trying ------------------------------------------------------------------------------------

// Any key stops trying words, until the keys rest.
function waitForRest() {
    clearTimeout(waitForRest.timer);
    if (live.engine) waitForRest.timer = setTimeout(tryNext, TRY_REST);
}

// Try a word that the screen shows, until all are tried.
function tryNext() {
    const trial = shownScreen().trial?.() ?? null;
    if (!trial) return;
    tryWord(trial);
    shownScreen().tried();
    waitForRest.timer = setTimeout(tryNext);
}
