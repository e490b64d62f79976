// What each token of the text, and of its source, gives to the predicted token: integrated
// gradients of its logit (lib/measure/saliency.h), as the tokens on their colours.

const MUCH_MISSING = 0.05; // of the change of the logit
const HELD_WHERE = 'The page holds this for the token at which it opens. Here:';
const HELD_NOWHERE = 'The page does not hold this. On the command line:';

// The numbers for the prediction at a row, which the page holds or its engine makes; null: none.
function saliencyOf(sentence, row) {
    if (sentence.saliency?.position === row) return sentence.saliency;
    const run = live.engine && sentence.request;
    if (!run || run.off.length) return null;
    const made = (sentence.salient ??= []);
    return (made[row] ??= JSON.parse(live.engine.saliency(run.text, { ...requestOf(run), row })));
}

let salientRow = 0;
let salientWait = null;

// Draw the fold, if it is open; of a live page when typing pauses.
function drawSaliency(row = salientRow) {
    const fold = byId('saliency');
    salientRow = row;
    clearTimeout(salientWait);
    fold.hidden = Boolean(state.lesson);
    if (!fold.open || fold.hidden) fold.lastElementChild.replaceChildren();
    else if (live.engine) salientWait = setTimeout(fillSaliency, LIVE_PAUSE);
    else fillSaliency();
}

function fillSaliency() {
    const box = byId('saliency').lastElementChild;
    const sentence = current();
    box.replaceChildren();
    try {
        const found = saliencyOf(sentence, salientRow);
        if (found) drawStrips(box, found);
        else if (live.engine) box.append(element('p', 'Runs without some heads are not split.'));
        else box.append(element('p', sentence.saliency ? HELD_WHERE : HELD_NOWHERE));
    } catch (error) {
        box.append(element('p', error.message));
    }
    const words = ['--by', 'token', '--query', String(salientRow)];
    if (!live.engine) box.append(commandLine(commandOf(sentence, 'attribute', words)));
}

// A row of the numbers is [part of an encoder-decoder,] position, id, text, saliency, norm.
function drawStrips(box, { saliency: rows, logit, change, missing }) {
    const values = rows.map((row) => row.at(-2));
    const most = Math.max(1e-30, ...values.map(Math.abs));
    const tone = new Tone(-most, most, 'linear');
    let part = null;
    rows.forEach((row, at) => {
        if (!at || (row.length > 5 && row[0] !== part)) {
            part = row[0];
            const label = `tokens of the ${row.length > 5 ? part : 'text'}`;
            box.append(element('p', '', 'strip', { role: 'list', 'aria-label': label }));
        }
        const name = shown(row.at(-3));
        const title = `${quoted(name)} · ${signedText(values[at], 3)}`;
        const one = element('span', name, '', { role: 'listitem', translate: 'no', title });
        one.setAttribute('aria-label', title);
        fillWith(one, tone.colour(values[at]));
        box.lastElementChild.append(one);
    });
    const sum = `They sum to ${signedText(change, 2)}, from a baseline of zeros`;
    box.append(element('p', `Integrated gradients of its logit, ${signedText(logit, 2)}. ${sum}.`));
    const isMuch = Math.abs(missing) > MUCH_MISSING * Math.abs(change - missing);
    const words = isMuch
        ? `But ${signedText(missing, 2)} of this is an error: read no order from it.`
        : 'A small number is no proof that a token is not needed.';
    box.append(element('p', words, 'quiet'));
}
