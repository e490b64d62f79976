// What every layer would say comes next: rows are layers, columns tokens, and each cell has the
// likeliest token there, with its probability.

const LENS_LISTED = 3; // tokens that a cell tells of

class LensView {
    constructor(parent, sentence) {
        this.next = sentence.nextTokens;
        this.labels = sentence.labels.sentence || [];
        this.count = this.next.last.came.length;
        const words =
            'The stream after each layer, read as if it were the last. A frame: it is the token ' +
            'that came. The last layer is the word of the model itself.';
        parent.append(element('p', words, 'caption'));
        const region = tableRegion(parent, 'likeliest tokens, layers down');
        region.append(this.table());
        region.addEventListener('keydown', (event) => this.key(event));
        region.removeAttribute('tabindex'); // its cells are reached by keys
        this.cells[0][0].tabIndex = 0;
    }

    label(place) {
        return this.labels[place] ?? String(place);
    }

    table() {
        const table = element('table', '', 'lens');
        const head = table.createTHead().insertRow();
        head.append(headerCell('layer', 'col'));
        for (let place = 0; place < this.count; place++)
            head.append(headerCell(this.label(place), 'col'));
        const body = table.createTBody();
        this.cells = this.next.layers.map((layer) => {
            const line = body.insertRow();
            line.append(headerCell(String(layer.layer), 'row'));
            return Array.from({ length: this.count }, (_, place) =>
                this.cell(line.insertCell(), layer, place),
            );
        });
        return table;
    }

    cell(parent, layer, place) {
        const [best] = this.next.likeliest(place, layer);
        const share = Math.exp(best.logprob);
        const button = element('button', '', '', { tabindex: -1 });
        const colour = shadeOf(share);
        button.append(element('b', best.name), element('span', percent(share)));
        button.style.background = css(colour);
        button.style.color = inkOn(colour);
        if (best.name === this.labels[place + 1]) button.className = 'came';
        const say = () => this.say(layer, place);
        for (const event of ['mouseenter', 'focus', 'click']) button.addEventListener(event, say);
        parent.append(button);
        return button;
    }

    // All that is known of a cell.
    say(layer, place) {
        const likeliest = this.next
            .likeliest(place, layer)
            .slice(0, LENS_LISTED)
            .map((one) => `${quoted(one.name)} ${exact(one.logprob)}`);
        const came = this.next.came(place + 1, layer);
        const known = place + 1 < this.count && came;
        const after = known
            ? ` · what came, ${quoted(this.label(place + 1))}: log p ${exact(came.logprob)}, ` +
              `rank ${came.rank}`
            : '';
        read(
            quoted(this.next.likeliest(place, layer)[0].name),
            ` after ${quoted(this.label(place))}, layer ${layer.layer} · log p ` +
                `${likeliest.join(', ')}${after} · entropy ${exact(layer.entropies[place])}`,
        );
    }

    key(event) {
        const step = arrowOf(event);
        if (!step) return;
        const row = this.cells.findIndex((cells) => cells.includes(event.target));
        const column = row < 0 ? 0 : this.cells[row].indexOf(event.target);
        const to = this.cells[row + step[0]]?.[column + step[1]];
        if (!to) return;
        event.target.tabIndex = -1;
        to.tabIndex = 0;
        to.focus();
    }
}
