// The text itself: a token that is chosen colours those it looks at, or that look at it.

class TextView {
    constructor(parent, tensor, heads) {
        Object.assign(this, { tensor, heads });
        this.drawChoices(parent);
        if (tensor.row_labels === tensor.column_labels) {
            this.rowsAndColumns = this.drawText(parent, 'row');
        } else {
            this.rowText = this.drawText(parent, 'row');
            this.columnText = this.drawText(parent, 'column');
        }
        this.colour(state.token);
    }

    drawChoices(parent) {
        const ways = { row: 'what it looks at', column: 'what looks at it' };
        const choices = element('div', 'Point at a token or choose it:', 'choices');
        const choose = (way) => {
            state.way = way;
            if (state.token) state.token = { side: way, index: state.token.index };
            this.colour(state.token);
        };
        choices.append(...radios('way', ways, state.way, choose));
        parent.append(choices);
    }

    drawText(parent, side) {
        const running = element('p', '', 'running', { dir: 'auto' });
        const plain = this.tensor.sentence.plain[this.tensor[`${side}_labels`]];
        const labels = this.tensor.labels(side);
        const buttons = labels.map((label, index) => {
            const text = plain[index];
            const readable = text.trim() && !text.includes('\uFFFD'); // the bytes of a part are not
            const seen = readable ? text.replace(/[\n\t]/g, ' ') : label;
            const show = () => this.colour({ side: this.way(side), index });
            const choose = () => {
                const same = state.token && state.token.index === index;
                state.token = same ? null : { side: this.way(side), index };
                this.colour(state.token);
            };
            const button = buttonFor(choose, seen, '', { title: `${index}: ${label}` });
            button.hidden = index < firstShown(this.tensor);
            button.addEventListener('mouseenter', show);
            button.addEventListener('mouseleave', () => this.colour(state.token));
            button.addEventListener('focus', show);
            running.append(button, this.tensor.sentence.gap ? ' ' : '');
            return button;
        });
        parent.append(running);
        return buttons;
    }

    // In a text that looks at another one, what is pointed at says the way.
    way(side) {
        return this.rowsAndColumns ? state.way : side;
    }

    // The mean over the heads that are shown.
    value(row, column) {
        let sum = 0;
        for (const head of this.heads) sum += this.tensor.at(head, row, column) || 0;
        return sum / this.heads.length;
    }

    colour(token) {
        const all = this.rowsAndColumns ? [this.rowsAndColumns] : [this.rowText, this.columnText];
        for (const buttons of all)
            for (const button of buttons) {
                button.style.background = '';
                button.style.color = '';
                button.setAttribute('aria-pressed', 'false');
            }
        if (!token) return read();
        const { tensor } = this;
        const from = this.rowsAndColumns || (token.side === 'row' ? this.rowText : this.columnText);
        const to = this.rowsAndColumns || (token.side === 'row' ? this.columnText : this.rowText);
        const ofRow = token.side === 'row';
        const values = to.map((_, other) =>
            ofRow ? this.value(token.index, other) : this.value(other, token.index),
        );
        const first = ofRow ? firstColumn(tensor) : firstShown(tensor);
        const tone = new Tone(extentOf(values, first, values.length, { low: 0, high: 0 }), false);
        const ramp = rampOf(tensor);
        to.forEach((button, other) => {
            if (!values[other]) return;
            const colour = ramp[tone.level(values[other])];
            button.style.background = css(colour);
            button.style.color = inkOn(colour);
        });
        from[token.index].setAttribute('aria-pressed', 'true');
        const other = ofRow ? 'column' : 'row';
        const best = values
            .map((value, index) => [value, index])
            .filter((one) => one[1] >= first)
            .sort((a, b) => b[0] - a[0])
            .slice(0, 4)
            .map(([value, index]) => `${quoted(tensor.label(other, index))} ${brief(value)}`);
        const verb = ofRow ? ' looks at ' : ' is looked at by ';
        return read(quoted(tensor.label(token.side, token.index)), verb, best.join(', '));
    }
}
