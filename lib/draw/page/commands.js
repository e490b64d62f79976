// Command lines that make what is shown, as a shell takes them.

function shellWord(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// Of a text of the page: its model, text or ids, and the way it attends, then other words.
function commandOf(sentence, command, words) {
    const ids = sentence.ids && !sentence.text;
    return [
        'attn-cli',
        command,
        ...['-m', sentence.model],
        ...(ids ? ['--ids', sentence.ids.join(',')] : ['-s', sentence.text ?? sentence.title]),
        ...(sentence.command || []),
        ...words,
    ]
        .map(shellWord)
        .join(' ');
}

// A line to be copied.
function commandLine(text) {
    const line = document.createElement('p');
    const code = document.createElement('code');
    const copy = document.createElement('button');
    line.className = 'command';
    code.textContent = text;
    code.tabIndex = 0;
    copy.textContent = 'Copy';
    copy.addEventListener('click', () => copyText(text, copy));
    line.append(code, copy);
    return line;
}

// The clipboard is there for pages from files, too; where it is refused the old way serves.
async function copyText(text, button) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const field = document.createElement('textarea');
        field.value = text;
        document.body.append(field);
        field.select();
        document.execCommand('copy');
        field.remove();
    }
    button.textContent = 'Copied';
}
