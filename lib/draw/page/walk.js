// The pass of a text through the model: a diagram whose stations show their tensors.

const THUMBNAIL = 46;
const PANEL_EDGES = 26; // share of its width

// All heads of a tensor in a grid.
function mosaic(tensor, size) {
    const [canvas, context] = sharpCanvas(size, size);
    const heads = tensor.shape[0];
    const across = Math.ceil(Math.sqrt(heads));
    const side = size / across;
    context.fillStyle = variable('--masked');
    context.fillRect(0, 0, size, size);
    for (let head = 0; head < heads; head++) {
        const cells = levelsOf(tensor, head, Math.ceil(2 * side), Math.ceil(2 * side));
        const [x, y] = [(head % across) * side, Math.floor(head / across) * side];
        context.drawImage(canvasOfCells(cells), x, y, side - 1, side - 1);
    }
    return canvas;
}

// "4 heads of 7 × 24 numbers".
function sizeWords(tensor) {
    const [heads, rows, columns] = tensor.shape;
    if (!(tensor.heads || tensor.kv_heads) || heads < 2) return say('# × # numbers', rows, columns);
    const words = tensor.heads ? '# heads of # × # numbers' : '# kv_heads of # × # numbers';
    return say(words, heads, rows, columns);
}

class WalkView {
    constructor(parent, sentence, room) {
        this.sentence = sentence;
        this.room = room;
        this.stations = [];
        this.row = element('div', '', 'walk');
        this.diagram = element('div', '', 'diagram', { role: 'group' });
        this.panel = element('section', '', 'station', {
            ...{ 'aria-label': say('The tensor of the station'), 'aria-live': 'polite' },
        });
        this.row.append(this.diagram, this.panel);
        parent.append(this.row);
        for (const part of partsOf(sentence)) this.drawPart(part);
        const there = this.stations.filter((one) => one.tensor).length;
        const words = '# stations, # with their tensors; arrow keys go on';
        this.diagram.setAttribute('aria-label', say(words, this.stations.length, there));
        this.diagram.addEventListener('keydown', (event) => this.key(event));
        const first = this.stations.find((one) => one.tensor);
        const chosen = this.stations[state.station];
        this.open(chosen ? state.station : first ? first.number : 0, false);
    }

    drawPart(part) {
        if (part.title) this.diagram.append(element('h3', part.title));
        for (const block of part.blocks) {
            const section = element('section', '', block.title ? 'block' : 'ends');
            if (block.title) section.append(element('h4', block.title));
            for (const row of rowsOf(block)) this.drawRow(section, row);
            this.diagram.append(section);
        }
    }

    // The residual stream on the left; on the right the branches that read it and add to it.
    drawRow(section, row) {
        for (const branch of row.branches) {
            const chain = element('div', '', 'branch');
            branch.forEach((step, at) => {
                if (at) chain.append(this.arrow('→'));
                const group = element('span', '', 'step');
                group.append(...step.map((one) => this.button(one)));
                chain.append(group);
            });
            if (row.stream) chain.append(this.arrow('+'));
            section.append(chain);
        }
        if (!row.stream) return;
        const lane = element('div', '', 'lane');
        lane.append(this.button(row.stream));
        section.append(lane);
    }

    arrow(text) {
        return element('span', text, 'arrow', { 'aria-hidden': true });
    }

    button(station) {
        const { name, layer, tensor } = station;
        const place = layer === null ? '' : `${say('layer #', layer)} · `;
        const words = tensor ? sizeWords(tensor) : say('not in this page');
        const open = () => this.open(station.number);
        const button = buttonFor(open, '', tensor ? 'node' : 'node missing', {
            'aria-label': `${place}${name}: ${words}`,
            title: say(look.about[name] || name),
            'data-station': station.number,
        });
        if (tensor) button.append(mosaic(tensor, THUMBNAIL));
        button.append(element('span', name.replace(/^enc\./, '')));
        this.stations[station.number] = { ...station, button };
        return button;
    }

    key(event) {
        const step = arrowOf(event);
        if (!step) return;
        this.open(clamp(state.station + step[0] + step[1], 0, this.stations.length - 1));
        this.stations[state.station].button.focus();
    }

    open(number, remember = true) {
        state.station = number;
        for (const one of this.stations)
            one.button.setAttribute('aria-pressed', String(one.number === number));
        this.drawPanel(this.stations[number]);
        this.placePanel(this.stations[number].button);
        if (remember) rememberState();
    }

    // Put the panel next to the diagram or, if it does not fit there, below the station.
    placePanel(button) {
        if (getComputedStyle(this.row).gridTemplateColumns.includes(' ')) return;
        button.closest('.branch, .lane').after(this.panel);
    }

    drawPanel(station) {
        const { name, layer, tensor } = station;
        const place = layer === null ? '' : ` · ${say('layer #', layer)}`;
        this.panel.replaceChildren(element('h2', `${name}${place}`));
        this.panel.append(element('p', say(look.about[name] || '')));
        if (tensor) this.drawTensor(station);
    }

    drawTensor({ name, tensor }) {
        const head = Math.min(state.head, tensor.shape[0] - 1);
        const line = element('p', '', 'choices');
        const layer = this.sentence.of(name).indexOf(tensor);
        const enlarge = () => set({ lesson: false, kind: name, layer, head, kept: null });
        const title = say('Open it in the workbench');
        line.append(buttonFor(enlarge, say('Open'), '', { title }));
        this.panel.append(line);
        const axes = say('rows: #, columns: #', say(tensor.rows), say(tensor.columns));
        this.panel.append(element('p', `${sizeWords(tensor)}; ${axes}`, 'caption'));
        const room = Math.min(this.panel.clientWidth || this.room, this.room) - PANEL_EDGES;
        lessonMatrix(this.panel, tensor, head, room);
    }
}
