// The finding of a text: a headline, and a sentence that names the head. The program finds it
// (lib/measure/finding.h); the page has the words.

const NO_MODEL = 'Weights of another program, without a model: nothing is predicted or explained.';
const NOT_TRAINED = 'This model is not trained: its numbers show the computation, not language';
const PROBABLE = 0.1; // of less likely tokens the headline says that the model is not sure

// A sentence as a list of texts and elements; each # is the next value, a text or an element.
function phrase(text, ...values) {
    const marks = values.map((one, at) => (typeof one === 'string' ? one : `\ue000${at}\ue001`));
    return say(text, ...marks).split(/\ue000(\d+)\ue001/)
        .map((part, at) => (at % 2 ? values[part] : part));
}

// The head of a finding, as headsOf has it; undefined: the page does not hold it.
function headOfFinding({ map, layer, head }, sentence = current()) {
    const isIt = (one) => one.tensor === map && one.layer === layer;
    const kind = sentence.tensors.find(isIt)?.kind;
    return headsOf(sentence, kind).find(({ tensor, head: at }) =>
        isIt(tensor) && (tensor.heads?.[at] ?? 0) === head);
}

// A button that shows the head of a finding and its row.
function headOfWords(one) {
    const found = headOfFinding(one);
    const name = shownHead(`${one.layer}.${one.head}`);
    if (!found) return name;
    return headName(found, { kind: found.tensor.kind, row: one.query, kept: null }, name);
}

// The words of a finding: query and key, each in quotes.
function wordsOfFinding({ map, query, key }) {
    const { labels } = current();
    const isAcross = map.startsWith('cross_');
    const keys = map.startsWith('enc.') || isAcross ? labels.source : labels.sentence;
    const queries = map.startsWith('enc.') ? labels.source : labels.sentence;
    return [queries[query + Number(isAcross)] ?? '', keys[key] ?? ''].map((one) =>
        quoted(shown(one)));
}

const looksAt = ({ query, key }) =>
    (key < query ? '# looks back at #' : key > query ? '# looks ahead to #' : '# looks at #');

// "After “cabinet” the model says “are” > 99.9 %"; null: the model predicts nothing here.
function predictionWords() {
    const { masks, classes, labels, predicts: best } = current();
    if (!best || classes || isCross(shownTensor())) return null;
    const words = [labels.sentence[best.row], best.token].map((one) => quoted(shown(one)));
    const sure = masks ? 'For # the model says #' : 'After # the model says #';
    const unsure = masks ? 'For # the model is not sure: its best guess is #'
        : 'After # the model is not sure: its best guess is #';
    return [say(best.probability < PROBABLE ? unsure : sure, ...words), ' ',
        element('span', roundShare(best.probability), 'share')];
}

// The prediction if the query could not look at the key, where that was tried.
function withoutWords({ kind, token, probability, without, without_probability: share, d }, words) {
    if (d === undefined || probability < PROBABLE) return '';
    const name = quoted(shown(token));
    if (kind !== 'acts' && without === token)
        return say('The prediction does not need it: without it # has #.', name,
            roundShare(probability * 2 ** -d));
    const said = without === token
        ? say('If # could not look at #, # would fall to #.', ...words, name, roundShare(share))
        : say('If # could not look at #, the model would say # (#).', ...words,
            quoted(shown(without)), roundShare(share));
    return element('span', said, 'loss');
}

// The sentence below a headline that has a prediction, a list of parts.
function headSentence(one) {
    const words = wordsOfFinding(one);
    const name = headOfWords(one);
    if (/mix_/.test(one.map))
        return phrase('The state of # gives back mostly what it stored at # (# of what # reads).',
            name, words[1], roundShare(one.weight), words[0]);
    const back = one.key < one.query ? 'Head # looks back at # (#).'
        : 'Head # looks ahead to # (#).';
    return [...phrase(back, name, words[1], roundShare(one.weight)), ' ', withoutWords(one, words)];
}

// Headline and sentence of a translation.
function translationWords(one) {
    const [query, key] = wordsOfFinding(one);
    const tensor = headOfFinding(one)?.tensor;
    const tops = tensor ? Array.from({ length: tensor.rowCount - 1 }, (_, row) =>
        largestOf(tensor.row(headOfFinding(one).head, row))) : [];
    const isCrossed = tops.some((key_, at) => tops.slice(at).some((other) => other < key_));
    const lines = isCrossed
        ? 'Lines: where head # looks before each word; they cross where word order differs.'
        : 'Lines: where head # looks before each word.';
    const isOther = one.d !== undefined && one.probability >= PROBABLE
        && one.without !== one.token;
    const loss = isOther && element('span', say('If it could not look at #, it would write # (#).',
        key, quoted(shown(one.without)), roundShare(one.without_probability)), 'loss');
    return [[say('To write # the model looks at # (#)', query, key, roundShare(one.weight))],
        [...phrase(lines, headOfWords(one)), ' ', loss]];
}

// Headline and sentence of a text without a prediction, whose heads look at words.
function looksWords([one, ...others]) {
    const rest = others.flatMap((other, at) => [at ? say(', ') : '',
        ...phrase('# → # (#)', ...wordsOfFinding(other), headOfWords(other))]);
    return [[say(looksAt(one), ...wordsOfFinding(one)), say(' (#)', roundShare(one.weight))],
        [...phrase('Seen in head #.', headOfWords(one)), ' ',
            ...(rest.length ? [say('Others: '), ...rest, isChinese() ? '。' : '.'] : [])]];
}

// Of a model that is not trained: its largest weight between two words.
function largestWords() {
    let most = null;
    for (const one of headsOf(current(), state.kind).filter(({ tensor }) => hasRoles(tensor)))
        for (let row = 0; row < one.tensor.rowCount; row++)
            one.tensor.row(one.head, row).forEach((weight, key) => {
                if (key === row || !(weight > (most?.weight ?? 0))) return;
                most = { ...one, row, key, weight };
            });
    if (!most) return [];
    const { tensor, row, key, weight } = most;
    return phrase('The largest weight between two words: in # # looks at # (#).',
        headName(most, { row, kept: null }), quoted(tensor.label('row', row)),
        quoted(tensor.label('column', key)), roundShare(weight));
}

function saidFirst() {
    const { findings, untrained, files, predicts } = current();
    const [one] = findings || [];
    if (untrained) return [[say(NOT_TRAINED)], largestWords()];
    if (one?.map.startsWith('cross_')) return translationWords(one);
    const asks = predictionWords();
    if (one && !asks) return looksWords(findings);
    if (one) return [asks, headSentence(one)];
    if (files || !findings) return [asks || [headWords()], []];
    const none = predicts?.probability >= PROBABLE
        ? 'No head looks more than usual at one word that this needs.'
        : 'No head stands out here.';
    const arcs = say('The arcs show the mean of all heads.');
    return asks ? [asks, [say(none), isChinese() ? '' : ' ', arcs]]
        : [[say('No head stands out here')], [arcs]];
}

function drawHeadline() {
    const [words, sentence] = saidFirst();
    const isSwitched = state.off.size > 0 || state.t !== 1; // which changes no finding
    const usual = isSwitched && element('span', say('Usually: '), 'share');
    const headline = [usual, ...words].filter(Boolean);
    byId('headline').replaceChildren(...headline);
    byId('finding').replaceChildren(...sentence.filter(Boolean));
    setAside('finding', !byId('finding').firstChild);
    drawNotes();
    announce(byId('headline'));
}

// Notes on the text and its origin, above all sentences.
function drawNotes() {
    const { files, splits, labels } = current();
    const bytes = 'Some characters are not in the vocabulary and are split into bytes, such as #.';
    const notes = [files && NO_MODEL,
        splits !== undefined && say(bytes, quoted(labels.sentence[splits]))].filter(Boolean);
    byId('notes').textContent = notes.join(' ');
    setAside('notes', !notes.length);
}
