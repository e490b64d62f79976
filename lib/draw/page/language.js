// The page in English or Chinese. The program writes English; in Chinese each text and name is
// replaced by its entry in chinese.js as soon as it is in the page, before the browser paints it.

// Tokens, commands, numbers and names of models, which stay.
const UNTRANSLATED = `[translate="no"], code, svg, #title, #plain, #pair,
    #bars .name, #layer-rows td, #numbers th, #why tbody th, .why-head b, #why .bar .name > *,
    #scores dt, option:not([value=""])`;

// A language of an address; '': none.
function languageOf(text) {
    return ['en', 'zh'].includes(text) ? text : '';
}

function isChinese() {
    const usual = look.language === 'zh' ? 'zh' : navigator.language;
    return (state.lang || usual).startsWith('zh');
}

// A text in the language of the page; each # is the next value, #1 the first one.
function say(text, ...values) {
    const said = (isChinese() && CHINESE[text]) || text;
    return values.length ? filled(said, values) : said;
}

// Between Chinese and a name in its quotes there is no blank.
function filled(text, values) {
    let next = 0;
    const place = /((?<=\p{Script=Han}) )?[#~](\d?)( (?=\p{Script=Han}))?/gu;
    return text.replace(place, (_, before = '', at, after = '') => {
        const value = `${values[at ? at - 1 : next++]}`;
        return (/^“/.test(value) ? '' : before) + value + (/”$/.test(value) ? '' : after);
    });
}

// Entries with # (any text, or one word if they are short) or ~ (a text that has an entry itself),
// longer ones first: a pattern and its translation, in which #1 is the first of these texts.
let patterns = [];
const translations = new Map(); // by text

function readTable() {
    const groupOf = (text) => (one) => (one === '#' && text.length < 10 ? '(\\S+)' : '(.+?)');
    const plain = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const entries = Object.entries(CHINESE)
        .map(([text, said]) => [text.trim().replace(/\s+/g, ' '), said])
        .sort(([a], [b]) => b.length - a.length);
    for (const [text, said] of entries) translations.set(text, said);
    patterns = entries
        .filter(([text]) => /[#~]/.test(text))
        .map(([text, said]) => ({
            pattern: new RegExp(`^${plain(text).replace(/[#~]/g, groupOf(text))}$`, 's'),
            kinds: text.match(/[#~]/g),
            said,
        }));
}

function matched(text) {
    for (const { pattern, kinds, said } of patterns) {
        const found = pattern.exec(text)?.slice(1);
        const parts = found?.map((part, at) => (kinds[at] === '~' ? translated(part) : part));
        if (parts) return filled(said, parts);
    }
    return null;
}

// A text in Chinese: an entry, a list of texts that have one, or a pattern; else the text itself.
function translated(text) {
    const words = text.trim().replace(/\s+/g, ' ');
    if (!translations.has(words)) {
        if (!/[a-z]/i.test(words)) return text;
        const parts = words.split(/( · |, |; )/);
        const list = parts.length > 1 ? parts.map((part) => translated(part)) : parts;
        const isList = list.every((part, at) => part !== parts[at] || !/[a-z]{2}/i.test(part));
        translations.set(words, (isList ? null : matched(words)) ?? list.join(''));
        if (translations.size > 5000) translations.clear();
    }
    const said = translations.get(words);
    if (said === words) return text;
    const [before, after] = [/^\s*/, /\s*$/].map((blank) => blank.exec(text)[0]);
    const ends = [/^[，。；：、？）（]/.test(said) ? '' : before, /[，。；：、？（]$/.test(said) ? '' : after];
    return ends.join(said);
}

const NAMED = ['aria-label', 'title'];
const originals = new WeakMap(); // of nodes: English and Chinese by attribute or 'data'

function swap(holder, name, text, put) {
    const said = translated(text);
    if (said === text) return;
    originals.set(holder, { ...originals.get(holder), [name]: [text, said] });
    put(said);
}

function translateNode(node) {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    if (!element || element.closest(`script, ${UNTRANSLATED}`)) return;
    if (element !== node) return void swap(node, 'data', node.data, (said) => (node.data = said));
    for (const name of NAMED.filter((one) => node.hasAttribute?.(one)))
        swap(node, name, node.getAttribute(name), (said) => node.setAttribute(name, said));
}

// Call `act` with the elements and texts of a part of the page.
function eachNode(root, act) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = root; node; node = walker.nextNode()) act(node);
}

function restoreNode(node) {
    for (const [name, [text, said]] of Object.entries(originals.get(node) || {}))
        if (name === 'data') node.data = node.data === said ? text : node.data;
        else if (node.getAttribute(name) === said) node.setAttribute(name, text);
}

const changes = new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records)
        if (type === 'childList') addedNodes.forEach((node) => eachNode(node, translateNode));
        else translateNode(target);
    changes.takeRecords(); // changes by the translation itself
});

// Translate the page, or restore it, if its language changed.
function settleLanguage() {
    const lang = isChinese() ? 'zh' : 'en';
    byId('language').textContent = lang === 'zh' ? 'English' : '中文';
    byId('language').lang = lang === 'zh' ? 'en' : 'zh';
    if (document.documentElement.lang === lang && (patterns.length || lang === 'en')) return;
    document.documentElement.lang = lang;
    changes.disconnect();
    if (lang === 'en') return void eachNode(document.body, restoreNode);
    if (!patterns.length) readTable();
    eachNode(document.body, translateNode);
    const watched = { subtree: true, childList: true, characterData: true };
    changes.observe(document.body, { ...watched, attributes: true, attributeFilter: NAMED });
}
