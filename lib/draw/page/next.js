// Next token: under each token what was likely after it, the token that came by its rank, and
// sliders that change how one is drawn.

const NEXT_LISTED = 10;
const SLIDERS = [
    ['temperature', 'Temperature', 0.05, 3, 0.05],
    ['topK', 'Top-k (0: all)', 0, 0, 1],
    ['topP', 'Top-p', 0.05, 1, 0.01],
];

function percent(value) {
    return value < 0.00005 ? '< 0.01 %' : `${(100 * value).toFixed(2)} %`;
}

// One number, or from where to where it lies.
function shareText([least, most]) {
    const ends = [percent(least), percent(most)];
    return ends[0] === ends[1] ? ends[1] : `${ends[0].replace(' %', '')} – ${ends[1]}`;
}

// The colour of a share, 0 to 1, of a scale without signs.
function shadeOf(share) {
    const palette = look.palettes[look.defaults[0][isDark() ? 1 : 0]].colours;
    const level = Math.round(254 * share);
    return [0, 2, 4].map((at) => parseInt(palette.slice(6 * level + at, 6 * level + at + 2), 16));
}

class NextView {
    constructor(parent, sentence) {
        this.next = sentence.nextTokens;
        this.labels = sentence.labels.sentence || [];
        this.drawSliders(parent);
        this.note = element('p', '', 'caption');
        this.cards = element('div', '', 'cards');
        parent.append(this.note, this.cards);
        this.lists = [...this.next.last.came.keys()].map((place) => this.drawCard(place));
        this.drawLists();
    }

    drawSliders(parent) {
        const choices = element('div', '', 'choices sliders');
        for (const [name, title, least, most, step] of SLIDERS) {
            const label = element('label', `${title} `);
            const input = element('input');
            const output = element('output', String(state[name]));
            Object.assign(input, { type: 'range', min: least, step, id: `slider-${name}` });
            input.max = most || this.next.last.count;
            input.value = state[name];
            input.addEventListener('input', () => {
                state[name] = Number(input.value);
                output.textContent = input.value;
                this.drawLists();
                rememberState();
            });
            label.append(input, output);
            choices.append(label);
        }
        parent.append(choices);
    }

    // Dark where a token was unlikely: from 1 to e^-12.
    colour(place) {
        const came = this.next.came(place);
        if (!came || Number.isNaN(came.logprob)) return null;
        return shadeOf(Math.min(-came.logprob / 12, 1));
    }

    drawCard(place) {
        const card = element('section', '', 'card');
        const heading = element('h3', this.labels[place] ?? String(place));
        const colour = this.colour(place);
        const came = this.next.came(place);
        card.dataset.place = place;
        card.setAttribute('aria-label', `${place}: ${heading.textContent}`);
        if (colour) Object.assign(heading.style, { background: css(colour), color: inkOn(colour) });
        card.append(heading);
        const words = came
            ? `rank ${came.rank} · log p ${exact(came.logprob)}`
            : 'nothing before it says it';
        card.append(element('p', words, 'came'));
        const list = element('ol');
        card.append(list, element('p', '', 'rest'));
        this.cards.append(card);
        return card;
    }

    drawLists() {
        let unsure = false;
        this.lists.forEach((card, place) => {
            const { tokens, rest, sure } = this.next.sampled(place, state);
            const cameNext = this.labels[place + 1];
            unsure ||= !sure;
            card.querySelector('ol').replaceChildren(
                ...tokens.slice(0, NEXT_LISTED).map((one) => {
                    const item = element('li');
                    const bar = element('i');
                    bar.style.width = `${100 * one.share[1]}%`;
                    if (one.name === cameNext) item.className = 'came';
                    item.append(bar, element('span', one.name), element('b', shareText(one.share)));
                    return item;
                }),
            );
            const more = Math.max(0, tokens.length - NEXT_LISTED);
            const others = rest[1] ? `all others: ${shareText(rest)}` : '';
            card.querySelector('.rest').textContent = [more ? `${more} more` : '', others]
                .filter(Boolean)
                .join(' · ');
        });
        this.say(unsure);
    }

    // What is stored are the likeliest alone.
    say(unsure) {
        const { vocabulary, last } = this.next;
        const kept = `The ${last.count} likeliest of ${vocabulary} tokens are in this page`;
        const bounds =
            last.count < vocabulary && state.temperature !== 1 && !state.topK
                ? '; at a temperature other than 1 the others can only be bounded: from – to'
                : '';
        const cut = unsure ? '; where top-p ends among them is not known, and nothing is cut' : '';
        const dark = '. A token is the darker the less likely it was.';
        this.note.textContent = kept + bounds + cut + dark;
    }
}
