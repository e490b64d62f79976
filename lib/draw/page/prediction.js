// The prediction after the selected token, or at a mask: bars, and its probability layer by layer.

const BARS = 10;
const GHOST_LEAST = 0.01;
const STRONG_CHANGE = 10; // points
const STEPS_LISTED = 3;

const bars = []; // rows of the list, reused so that bars animate

function barRow() {
    const part = (one) => element('span', '', one);
    const [name, value, change] = ['name', 'value', 'change'].map(part);
    const row = element('li', [name, meter(0, { ghost: true }), value, change], 'bar');
    onPoint(row, (on) => highlightWord(on ? row.dataset.name : null));
    bars.push(row);
    return row;
}

// The row of the pinned text to compare with: the last or the same row; -1: none.
function pinnedRow(row) {
    const [mine, other] = [current(), pinned].map((one) => one?.labels.sentence || []);
    if (comparesTexts() && row === mine.length - 1) return other.length - 1;
    return mine.length === other.length || mine[row] === other[row] ? row : -1;
}

// The most likely tokens now and pinned, in turns, by their share now: { id, name, share, before }.
function candidates(next, row, before, place) {
    const [now, then] = [next.likeliest(row), before ? before.likeliest(place) : []];
    const both = now.flatMap((one, rank) => [one, then[rank] || one]);
    const found = [...new Map(both.map((one) => [one.id, one])).values()].slice(0, BARS);
    const shares = ({ id, name }) => {
        const share = next.shareOf(id, row);
        return { id, name, share, before: before ? before.shareOf(id, place) : NaN };
    };
    return found.map(shares).sort((a, b) => b.share - a.share);
}

// Show the leading space if two candidates differ only in it.
function candidateNames(list) {
    const names = list.map((one) => shown(one.name));
    return list.map((one, i) =>
        names.indexOf(names[i]) === names.lastIndexOf(names[i]) ? names[i] : one.name,
    );
}

let predicted = '';

// The row whose prediction is shown for a row: of a masked model the last mask, unless it is one.
function predictedRow(row, { masks, opens } = current()) {
    return !masks || masks.includes(row) ? row : opens;
}

function drawPrediction(selected) {
    if (!predicts()) return;
    const row = predictedRow(selected);
    const next = current().nextTokens;
    const place = pinned ? predictedRow(pinnedRow(row), pinned) : -1;
    const comparable = place < 0 ? null : pinned?.nextTokens;
    const key = `${row} ${state.runs} ${Boolean(comparable)} ${state.sentence}`;
    if (key === predicted && bars.length) return;
    predicted = key;
    const where = current().masks ? 'at' : 'after';
    const word = ({ labels }, at) => quoted(shown(labels.sentence[at]));
    byId('follows').textContent = `Prediction ${where} ${word(current(), row)}`;
    const outline = comparable && comparesTexts() ? `A ${where} ${word(pinned, place)}`
        : state.pin === live.pin ? 'before' : 'pinned';
    byId('follows-note').textContent = comparable ? `outline: ${outline}` : 'probability';
    drawBars(candidates(next, row, comparable, place), Boolean(comparable));
    drawLayers(next, row);
    drawWithout(row);
}

// Show a token in a row of bars: as solid its share, and as an outline another one, if it is known.
function setBar([name, track, value], { words, share, other, text }) {
    name.textContent = words;
    value.textContent = text;
    track.firstChild.style.width = `${100 * share}%`;
    track.lastChild.style.width = `${100 * (other || 0)}%`;
    track.lastChild.hidden = other === null;
}

function drawBars(list, compares) {
    const box = byId('bars');
    while (bars.length < BARS) box.append(barRow());
    box.classList.toggle('compares', compares);
    const names = candidateNames(list);
    bars.forEach((row, i) => {
        const one = list[i];
        row.hidden = !one;
        if (!one) return;
        const { before, name, share } = one;
        const change = row.lastChild;
        row.dataset.name = row.firstChild.title = name;
        setBar(row.children, { words: names[i], share, text: percent(share),
            other: before >= GHOST_LEAST ? before : null });
        const by = Number((100 * (share - before)).toFixed(1));
        change.textContent = compares ? `${by ? signedText(by, 1) : '0.0'} pt` : '';
        const weight = Math.abs(by) >= STRONG_CHANGE ? ' strong' : '';
        change.className = `change${by ? '' : ' even'}${by < 0 ? ' below' : ''}${weight}`;
    });
    rove(box, 'li');
}

// A row for each step; the text below names the step with the winner's largest gain.
function drawLayers(next, row) {
    const steps = next.stepsAt(row);
    byId('layers').hidden = steps.length < 2 && !live.steps; // steps may follow
    for (const id of ['layer-rows', 'entry']) byId(id).replaceChildren();
    if (steps.length < 2) return;
    if (current().classes)
        byId('likely-note').textContent = 'the most likely classes after each step';
    const actual = current().masks ? null : current().labels.sentence[row + 1];
    const tone = new Tone(0, 1, 'linear');
    byId('layer-rows').append(...steps.map((step) => {
        const list = next.likeliest(row, step).slice(0, STEPS_LISTED);
        const names = candidateNames(list);
        const cells = list.map(({ name, share }, i) => {
            const parts = [element('span', names[i]), element('span', percent(share))];
            const cell = element('td', parts, name === actual ? 'actual' : '');
            fillWith(cell, tone.colour(share));
            return cell;
        });
        return element('tr', [headerCell(stepName(step), 'row'), ...cells]);
    }));
    drawEntry(next, row, steps);
}

// "“door” rises most with attention 1: < 0.1 % → 95.9 %.", if it rises.
function drawEntry(next, row, steps) {
    const [winner] = next.likeliest(row);
    const shares = steps.map((step) => next.shareOf(winner.id, row, step));
    const rises = shares.slice(1).map((share, at) => share - shares[at]);
    const best = 1 + rises.indexOf(Math.max(...rises));
    if (!(rises[best - 1] >= 0.0005)) return;
    byId('entry').append(
        say('# rises most with', quoted(shown(winner.name))),
        isChinese() ? '' : ' ', // as between Chinese words
        element('b', stepName(steps[best])),
        ': ',
        element('span', `${percent(shares[best - 1])} → ${percent(shares[best])}.`),
    );
}
