// The exact numbers of a head as a table, for reading, screen readers and copying.

const TABLE_MOST = 60000; // cells; more make browsers slow

function drawTable(parent, tensor, index) {
    const [first, left] = [firstShown(tensor), firstColumn(tensor)];
    const most = Math.floor(TABLE_MOST / (tensor.rowCount - first));
    const end = Math.min(tensor.columnCount, left + most);
    const names = (axis, from, to) =>
        Array.from({ length: to - from }, (_, at) => tensor.labels(axis)?.[from + at] ?? from + at);
    const textOf = (row, column) => {
        const value = tensor.at(index, first + row, left + column);
        return Number.isNaN(value) ? '' : tensor.text(value);
    };
    const wide = tableRegion(parent, `Numbers of ${tensor.name(index)}`);
    const heads = names('column', left, end);
    wide.append(tableOf(heads, names('row', first, tensor.rowCount), textOf));
    const caption = wide.firstChild.createCaption();
    const { rows, columns } = tensor;
    caption.textContent = `${tensor.name(index)}: rows are ${rows}, columns ${columns}`;
    if (end < tensor.columnCount)
        caption.textContent += `; the first ${end - left} of ${tensor.columnCount} columns`;
}

// A table with names of columns (`heads`) and of rows; `marked`: the current row.
function tableOf(heads, names, textOf, { corner = '', marked, className = '' } = {}) {
    const table = element('table', '', className);
    const head = table.createTHead().insertRow();
    for (const name of [corner, ...heads]) head.append(headerCell(name, 'col'));
    const body = table.createTBody();
    names.forEach((name, row) => {
        const line = body.insertRow();
        if (row === marked) line.setAttribute('aria-current', 'true');
        line.append(headerCell(name, 'row'));
        for (let column = 0; column < heads.length; column++)
            line.insertCell().textContent = textOf(row, column);
    });
    return table;
}
