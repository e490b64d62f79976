// The page in Chinese: by a button, the address or the browser's language, without English left
// but tokens, commands, and names of tensors and heads.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import {
    LIFE,
    attn,
    drawn,
    go,
    open,
    quiet,
    same,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';
import { REPEAT } from './tasks.mjs';

const ROAD = '小鸡没有过马路，因为它太累了';
const CHINESE = { viewport: { width: 1440, height: 900 }, locale: 'zh-CN' };
const TENSORS =
    /^(enc\.)?(weights|scores|masked|softmax|context|embedding|[qkv]|[a-z]+(_[a-z0-9]+)+)$/;
const NAMES = new Set(
    `attn cli heads duplicate induction tiny translate softmax tanh max masked MLP PNG CSV Esc ALiBi
     English logits Home End`.split(/\s+/),
);

// English words in the texts and names of a page, without tokens and commands.
async function englishOf(page) {
    const texts = await page.evaluate(() => {
        const tokens = `script, style, noscript, code, svg,
            [translate="no"]:not(#headline, #finding, #effect), #title, #plain, #pair,
            #bars .name, #layer-rows td, #numbers th, #why tbody th, .why-head b,
            #why .bar .name > *, #scores dt, option:not([value=""])`;
        const found = [];
        for (const one of document.body.querySelectorAll('*')) {
            if (one.closest(tokens)) continue;
            for (const part of one.childNodes) if (part.nodeType === 3) found.push(part.data);
            for (const name of ['aria-label', 'title', 'placeholder'])
                found.push(one.getAttribute(name) || '');
        }
        return found;
    });
    const chips = (await page.locator('.chip').allTextContents()).concat('door', 'tree');
    const isName = (word) => TENSORS.test(word) || /^L\d+((H|KV)\d+|\.mlp)?$/.test(word); // L0H1
    const isEnglish = (word) => !chips.includes(word) && !NAMES.has(word) && !isName(word);
    return [...new Set(texts)].filter((text) => {
        const tokens = /下一个词元：\S+ → \S+|“[^”]*”|^\d+[:：] ?\S+|k − \S+的 k/g;
        const own = text.replace(tokens, '');
        return (own.match(/[A-Za-z][\w.]+/g) || []).some(isEnglish);
    });
}

async function onlyChinese(page, what) {
    await drawn(page);
    same([], await englishOf(page), what);
}

const other = REPEAT.replace('door', 'tree');
const two = writePage('-s', REPEAT, '-s', other, '--show', 'weights,context');

await test('words of a Chinese text are as dark as the text of the page, without gaps', () =>
    withPage(
        writePage('-m', 'roles', ROAD),
        async (page) => {
            const [word, own, gap] = await page.evaluate(() => {
                const [first, second] = document.querySelectorAll('#chips .chip[aria-pressed="false"]');
                return [getComputedStyle(first).color, getComputedStyle(document.body).color,
                    second.getBoundingClientRect().left - first.getBoundingClientRect().right];
            });
            same(own, word);
            yes(gap <= 6, `a gap of ${gap} pixels`);
        },
        CHINESE,
    ));

await test('a button, a link or the language of the browser chooses Chinese', async () => {
    const look = async (page) => [
        await page.getAttribute('html', 'lang'),
        await page.innerText('#heads-title'),
        await page.innerText('#grid .layer >> nth=0'),
        await page.innerText('#language'),
    ];
    const [english, chinese] = [
        ['en', 'Heads', 'Layer 0', '中文'],
        ['zh', '注意力头', '第 0 层', 'English'],
    ];
    await withPage(two, async (page) => {
        same(english, await look(page));
        const words = await page.innerText('main');
        await page.click('#language');
        same(chinese, await look(page));
        same('#lang=zh', await page.evaluate(() => location.hash));
        await page.click('#language');
        same(english, await look(page));
        same(words, await page.innerText('main'), 'the English page afterwards');
        await go(page, 'lang=zh');
        same(chinese, await look(page));
    });
    await withPage(two, async (page) => same(chinese, await look(page)), CHINESE);
    await withPage(two, async (page) => same(english, await look(page)), {
        ...CHINESE,
        hash: '#lang=en',
    });
});

await test('an address with ?lang=zh is Chinese; lists and names of heads on a phone are, too', () =>
    withPage(
        writePage('-s', 'The keys to the cabinet'),
        async (page) => {
            await page.goto(`${page.url().split('#')[0]}?lang=zh`);
            same('zh', await page.evaluate(() => document.documentElement.lang));
            await page.click('.thumb[data-head="0.1"]');
            same('L0H1 前一词元', await page.innerText('#head-title'));
            await page.click('#scores summary');
            const roles = await page.innerText('#roles');
            yes(/L0H2\s*、\s*L0H3/.test(roles), roles);
            same('在“cabinet”之后，模型说“are” > 99.9 %', await page.innerText('#headline'));
            same(
                '头 L1H3 回看“keys”（94 %）。 如果“cabinet”看不到“keys”，模型会说“is”（99.9 %）。',
                await page.innerText('#finding'),
            );
            for (const screen of ['matrix', 'motion', 'write']) {
                await page.click(`#screen-${screen}`);
                yes(!(await page.innerText('main')).includes('的的'), screen);
            }
        },
        { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
    ));

await test('no text of a page in Chinese is English', () =>
    withPage(
        two,
        async (page) => {
            await onlyChinese(page, 'as it opens');
            for (const hash of [
                'head=0.2',
                'head=1.2&show=context',
                'head=1.1&cell=14,7&why=1',
                'head=1.1&cell=14,3&why=1',
                'head=1.1&cell=3,7&why=1',
                'sentence=1&pin=0&head=1.1',
                'sentence=1&pin=0&cell=14,7&why=1',
                'sentence=1&pin=0&scale=sqrt',
                'sentence=1&pin=0&show=context',
                'present=1',
                'token=9',
                'form=rows&token=9',
                'sentence=1&pin=0&head=1.3',
            ]) {
                await go(page, hash);
                const folds = await page.locator('#why summary:visible').all();
                for (const fold of folds) await fold.click();
                await onlyChinese(page, hash);
            }
            await go(page, 'head=1.1');
            for (const fold of ['#scores summary', '#numbers summary']) await page.click(fold);
            for (const key of ['?', 'e']) {
                await page.keyboard.press(key);
                await onlyChinese(page, key);
                await page.keyboard.press('Escape');
            }
            await page.keyboard.press('d');
            await quiet(page); // announcements wait
            await onlyChinese(page, 'the other colours');
            await page.setViewportSize({ width: 390, height: 844 });
            await onlyChinese(page, 'a phone');
        },
        CHINESE,
    ));

await test('pages of other models and without explanations are Chinese, too', async () => {
    for (const words of [
        ['-s', LIFE, '--attention', 'window:2', '--explain', 'none', '--top', '0'],
        ['-m', 'translate', '-s', '<s> le chat', '--source', 'the cat', '--show', 'all'],
        ['-m', 'life', '-s', LIFE, '--mean', 'heads', '--hide-first'],
        ['-s', REPEAT, '--ablate', '0.1', '--unedited'],
        ['-s', LIFE, '--sae', 'demo', '--sae', 'demo:0,k=1'],
        ['-s', '我爱 dog'],
    ])
        await withPage(
            writePage(...words),
            async (page) => {
                await onlyChinese(page, words.join(' '));
                await go(page, 'cell=1,1&why=1');
                await onlyChinese(page, `${words.join(' ')}: why`);
                await go(page, 'sentence=1&pin=0');
                await onlyChinese(page, `${words.join(' ')}: compared`);
                const options = page.locator('#tensor option');
                for (const kind of await options.evaluateAll((all) => all.map((o) => o.value))) {
                    await go(page, `show=${kind}`);
                    await onlyChinese(page, kind);
                }
            },
            CHINESE,
        );
});

await test('tokens that are words of the page stay in Chinese, too', () =>
    withPage(
        writePage('-s', 'key query weight token Text'),
        async (page) => {
            const chips = await page.locator('.chip').allInnerTexts();
            yes(chips.join(' ').startsWith('key'), chips.join());
            yes(!/[\u4e00-\u9fff]/.test(chips.join('')), chips.join());
            await page.click('.chip[data-at="0"]');
            yes((await page.innerText('#follows')).includes('“key”'), 'another token');
            yes((await page.innerText('#pair')).startsWith('key → '), await page.innerText('#pair'));
        },
        CHINESE,
    ));

await test('a lesson has both languages, whichever it was written in', async () => {
    const [english, chinese] = ['en', 'zh'].map((lang) => {
        const path = join(scratch, `lesson-${lang}.html`);
        execFileSync(attn, ['lesson', '--lang', lang, '-o', path]);
        return path;
    });
    const read = async (path, lang) => {
        let words = [];
        await withPage(path, async (page) => {
            const open = await page.evaluate(() => location.hash);
            same('', open);
            for (const step of [0, 3, 8, 11, 12]) {
                await go(page, `sentence=${step}&lang=${lang}`);
                words.push(await page.title(), await page.innerText('#lesson'));
            }
        });
        return words;
    };
    for (const lang of ['en', 'zh']) {
        const words = await read(english, lang);
        same(words, await read(chinese, lang), lang);
        const steps = execFileSync(attn, ['lesson', '4', '--lang', lang, '--width', '1000']);
        const [, title] = /\d+  (\S.*)/.exec(steps);
        yes(words[3].startsWith(`4 ${title}`), `${words[3].slice(0, 80)}: ${title}`);
    }
});

const live = join(scratch, 'chinese-live.html');
let engine = true;
try {
    execFileSync(attn, ['page', '-q', '--live', '-s', REPEAT, '-o', live], { stdio: 'pipe' });
} catch {
    engine = false; // live.mjs reports it
}

if (engine)
    await test('a live page is Chinese while one types, and in its errors', async () => {
        const { page } = await open(live, CHINESE); // not withPage: errors are in the console
        const type = async (text) => {
            await page.fill('#text', text);
            await page
                .locator(`#live-note[data-text=${JSON.stringify(text)}]`)
                .waitFor({ state: 'attached' });
        };
        await page.locator('#text:enabled').waitFor();
        await quiet(page);
        await onlyChinese(page, 'as it opens');
        await page.locator('h1').click();
        for (const key of [']', 'x', 'x', 'b', ']', 'x']) {
            await page.keyboard.press(key);
            await quiet(page);
            await onlyChinese(page, `the key ${key}`);
        }
        for (const text of ['the dog sat and the dog', '', Array(200).fill('dog').join(' ')]) {
            await type(text);
            await quiet(page);
            await onlyChinese(page, text.slice(0, 30) || 'an empty text');
        }
        await page.context().close();
    });
