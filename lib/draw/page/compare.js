// Two heads beside each other with their difference: of any texts, models, runs, layers and heads
// that the page holds.

const SIDE_LEAST = 340; // points: narrower, sides stand below each other

class CompareView {
    constructor(parent, room) {
        this.room = room / Math.min(3, Math.max(1, Math.floor((room + 20) / (SIDE_LEAST + 20))));
        const row = element('div', '', 'compare');
        parent.append(row);
        this.sides = [0, 1].map((side) => this.side(side));
        this.drawSide(row, this.sides[0], 0, 'A');
        this.drawSide(row, this.sides[1], 1, 'B');
        this.drawDifference(row);
    }

    // What stands at a side: what was chosen, as far as it is there; B is the next head at first.
    side(at) {
        const chosen = state.sides[at];
        const sentence = sentences[Math.min(chosen.sentence, sentences.length - 1)];
        const kind = sentence.kinds.includes(state.kind) ? state.kind : sentence.kinds[0];
        const tensors = sentence.of(kind);
        const layer = Math.min(chosen.layer, tensors.length - 1);
        const head = Math.min(chosen.head, tensors[layer].shape[0] - 1);
        return { sentence, tensors, tensor: tensors[layer], layer, head };
    }

    choose(parent, at, name, entries, value) {
        const key = name === 'Text' ? 'sentence' : name.toLowerCase();
        const choose = (chosen) => {
            const sides = state.sides.map((side) => ({ ...side }));
            sides[at][key] = Number(chosen);
            set({ sides });
        };
        parent.append(chooser(name, `compare-${key}-${at}`, entries, value, choose));
    }

    drawSide(parent, side, at, name) {
        const part = element('section', '', 'side', { 'aria-label': `Side ${name}` });
        const fields = element('div', '', 'choices');
        const { sentence, tensors, tensor } = side;
        part.append(element('h2', name), fields);
        const places = sentences.map((one, i) => [i, `${i}: ${one.name()}`]);
        this.choose(fields, at, 'Text', places, sentences.indexOf(sentence));
        const layers = tensors.map((one, i) => [i, String(one.layer ?? '')]);
        if (layers.length > 1) this.choose(fields, at, 'Layer', layers, side.layer);
        const heads = [...Array(tensor.shape[0]).keys()].map((i) => [i, String(tensor.heads?.[i])]);
        if (heads.length > 1) this.choose(fields, at, 'Head', heads, side.head);
        parent.append(part);
        new MatrixView(part, tensor, side.head, this.room - 20);
    }

    // A less B, where their axes agree.
    drawDifference(parent) {
        const part = element('section', '', 'side', { 'aria-label': 'Difference' });
        const [a, b] = this.sides;
        part.append(element('h2', 'B − A'));
        parent.append(part);
        if (['rowCount', 'columnCount'].some((size) => a.tensor[size] !== b.tensor[size])) {
            const words =
                `A has ${a.tensor.rowCount} × ${a.tensor.columnCount} cells, ` +
                `B ${b.tensor.rowCount} × ${b.tensor.columnCount}: there is no difference to show.`;
            part.append(element('p', words, 'caption'));
            return;
        }
        const difference = differenceOf(a, b);
        const { most, mean, at } = difference.measure();
        const names = [difference.label('row', at.row), difference.label('column', at.column)];
        const place = names.join(' → ');
        const largest = `largest ${shortest(Math.fround(most))} (${place})`;
        part.append(element('p', `${largest}, mean of sizes ${brief(mean)}`, 'caption'));
        new MatrixView(part, difference, 0, this.room - 20);
    }
}

// A tensor of one matrix, with the axes of the first side.
function differenceOf(a, b) {
    const spec = { ...a.tensor, tensor: 'difference', shape: [1, a.tensor.rowCount], heads: null };
    spec.shape.push(a.tensor.columnCount);
    const difference = new Tensor({ ...spec, coding: 'exact', mean_of: 'B − A' }, a.sentence);
    const [one, other] = [a.tensor.matrix(a.head), b.tensor.matrix(b.head)];
    // where both are minus infinity there is no difference
    const data = one.map((value, i) => (value === other[i] ? 0 : other[i] - value));
    difference.matrices = new Map([[0, data]]);
    difference.label = (axis, at) => {
        const names = [a, b].map((side) => side.tensor.label(axis, at));
        return names[0] === names[1] ? names[0] : names.join(' / ');
    };
    difference.own = true; // its colours are its own
    difference.measure = () => {
        let [most, sum, count, place] = [0, 0, 0, 0];
        data.forEach((value, i) => {
            if (!Number.isFinite(value)) return;
            sum += Math.abs(value);
            count += 1;
            if (Math.abs(value) > Math.abs(most)) [most, place] = [value, i];
        });
        const row = Math.floor(place / difference.columnCount);
        const at = { row, column: place % difference.columnCount };
        return { most, mean: sum / Math.max(count, 1), at };
    };
    return difference;
}
