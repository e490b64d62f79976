// The text itself, lit by the attention of the selected word.

const lightOf = (tensor, head, row) => tensor.row(head, row).subarray(0, tensor.keyCount);

function drawText() {
    const box = byId('reading-words');
    const tensor = shownTensor();
    box.replaceChildren(
        ...(tensor.labels('column') || []).slice(0, tensor.keyCount).map((label, at) => {
            const word = buttonFor(() => selectRow(at), shown(label), 'word', { 'data-at': at });
            word.addEventListener('mouseenter', () => hover({ row: at }));
            word.addEventListener('mouseleave', () => hover(null));
            return word;
        }),
    );
    highlightText(currentCell());
    rove(box, '.word');
}

function highlightText({ row }) {
    const tensor = shownTensor();
    const tone = tonesOf(tensor, state.head)(row);
    const values = lightOf(tensor, state.head, row);
    byId('reading-title').textContent = say('Where # attends', quoted(tensor.label('row', row)));
    for (const word of byId('reading-words').children) {
        const value = values[Number(word.dataset.at)];
        const colour = tone.colour(value);
        word.style.background = Number.isNaN(value) ? '' : css(colour);
        word.style.color = Number.isNaN(value) ? '' : inkOn(colour);
        word.setAttribute('aria-pressed', Number(word.dataset.at) === row);
    }
}

addScreen({
    ...{ name: 'text', title: 'Text', key: 't' },
    parts: ['reading', 'legend', 'command'],
    isAvailable: () => hasRoles(shownTensor()),
    draw: drawText,
    highlight: highlightText,
    focus: () => byId('reading-words').querySelector('[aria-pressed="true"]').focus(),
    keys: {
        ArrowLeft: () => selectRow(Math.max(0, selectedRow() - 1)),
        ArrowRight: () => selectRow(Math.min(shownTensor().rowCount - 1, selectedRow() + 1)),
    },
});
