// Command lines that reproduce the view, quoted for a shell.

function shellWord(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// A command on a text of the page: model, text or ids, attention options, then `words`.
function commandOf(sentence, command, words) {
    const ids = sentence.ids && !sentence.text;
    return [
        ...['attn-cli', command, '-m', sentence.model],
        ...(ids ? ['--ids', sentence.ids.join(',')] : ['-s', sentence.text ?? sentence.title]),
        ...(sentence.command || []),
        ...words,
    ]
        .map(shellWord)
        .join(' ');
}

// A command with a button that copies it.
function commandLine(text) {
    const copy = buttonFor(() => copyText(text, copy), say('Copy'));
    return withParts(element('p', '', 'command'), element('code', text, '', { tabindex: 0 }), copy);
}

async function copyText(text, button) {
    await navigator.clipboard.writeText(text);
    if (button.className) return; // the label already reports a copy
    const before = { textContent: button.textContent, className: '' };
    Object.assign(button, { textContent: say('Copied'), className: 'copied' });
    setTimeout(() => Object.assign(button, before), 2000);
}
