// The screen Write: tokens that are appended are those of `generate`, words that are left out are
// those of --knockout, and undoing restores what was there.
//
// page.mjs imports it.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import {
    attn,
    attnJson,
    go,
    json,
    pass,
    plain,
    pointsWithout,
    quiet,
    same,
    samePoints,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const KEYS = 'The keys to the cabinet';
const CHICKEN = 'The chicken did not cross the road because it';
const path = join(scratch, 'write.html');
const WIDE = { viewport: { width: 1280, height: 720 } };
const CALM = { ...WIDE, reducedMotion: 'reduce' };

function write(file, ...words) {
    try {
        execFileSync(attn, ['page', '-q', '--live', ...words, '-o', file], { stdio: 'pipe' });
        return true;
    } catch (error) {
        if (error.status !== 4) throw error; // 4: there is no engine; live.mjs says so
        return false;
    }
}

// Open the screen on a text; `options` are of the address: T, k, seed.
async function begin(page, text, options = '') {
    const words = new URLSearchParams({
        text,
        screen: 'write',
        ...(options && { write: options }),
    });
    await go(page, String(words));
    await page
        .locator(`#live-note[data-text=${JSON.stringify(text)}]`)
        .waitFor({ state: 'attached' });
}

const started = (page) => page.locator('#text:enabled').waitFor({ state: 'attached' });
const added = (page) => page.locator('#written .new').allInnerTexts();
const idsOf = async (page) => {
    const words = await page.evaluate(() =>
        new URLSearchParams(location.hash.slice(1)).get('write'),
    );
    return (words || '').split(',').at(-1).split('.').filter(Boolean).map(Number);
};
const generated = (text, count, ...options) =>
    attnJson('generate', '-q', text, '-n', String(count), ...options).tables.tokens;
const press = async (page, key, times = 1) => {
    for (let i = 0; i < times; i++) await page.keyboard.press(key);
};
const settled = (page) => page.locator('#used:not(:empty)').waitFor();
// Texts of the screen, without the numbers of words that are left out one after another.
const shows = (page) =>
    page.evaluate(() => [
        document.querySelector('#text').value,
        ...[...document.querySelectorAll('#written .word, #write-bars, #write-steps b')].map(
            (one) => (one.matches('.word') ? one.firstChild.data : one.textContent),
        ),
        location.hash,
    ]);

if (write(path, KEYS)) {
    await test('Enter appends what generate appends without sampling', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await page.keyboard.press('g');
                await press(page, 'Enter', 8);
                const ids = generated(KEYS, 8).map(({ id }) => id);
                same(ids, await idsOf(page));
                const line = await page.innerText('#write-command code');
                yes(line.includes(` -n 1 --temperature 1 --seed 0`), line);
            },
            WIDE,
        ));

    await test('Space draws what generate draws with the same seed, temperature and top-k', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                for (const [t, k, seed] of [
                    [1.6, 6, 7],
                    [2.5, 0, 40],
                    [0, 0, 0],
                ]) {
                    await begin(page, CHICKEN, [t, k, seed, 0, ''].join());
                    await press(page, ' ', 10);
                    const draws = t ? ['--temperature', String(t), '--seed', String(seed)] : [];
                    const asked = k ? [...draws, '--top-k', String(k)] : draws;
                    const tokens = generated(CHICKEN, 10, ...asked);
                    same(
                        tokens.map(({ id }) => id),
                        await idsOf(page),
                    );
                    same(
                        tokens.map(({ text }) => plain(text)),
                        await page.locator('#write-steps b').allInnerTexts(),
                    );
                    // the command that the page prints does the same
                    const line = await page.innerText('#write-command code');
                    const words = line
                        .match(/'[^']*'|\S+/g)
                        .slice(1)
                        .map((one) => one.replaceAll("'", ''));
                    const found = attnJson(...words).tables.tokens.map(({ id }) => id);
                    if (t) same(found, await idsOf(page), line);
                }
            },
            CALM,
        ));

    await test('undoing restores the text, the bars, the steps and the address', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, CHICKEN, '1.6,6,3,0,');
                const before = [await shows(page)];
                for (const key of ['2', '4', '1', '0']) {
                    await page.keyboard.press(key);
                    before.push(await shows(page));
                }
                same(4, (await added(page)).length);
                for (let left = 3; left >= 2; left--) {
                    await page.keyboard.press('Backspace');
                    const now = await shows(page);
                    same(before[left].slice(0, -1), now.slice(0, -1));
                }
                await page.click('#write-steps button >> nth=0');
                same(before[0], await shows(page));
                yes(await page.isDisabled('#undo'), 'there is nothing to undo');
                same(CHICKEN, await page.inputValue('#text'));
            },
            CALM,
        ));

    await test('after an undone draw other numbers are drawn, as the command says', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, CHICKEN, '2,0,5,0,');
                await press(page, ' ', 3);
                const first = await idsOf(page);
                await press(page, 'Backspace', 2);
                await press(page, ' ', 3);
                const ids = await idsOf(page);
                same(first[0], ids[0]);
                const text =
                    CHICKEN + generated(CHICKEN, 1, '--temperature', '2', '--seed', '5')[0].text;
                const options = ['--temperature', '2', '--seed', '6'];
                same(
                    generated(text, 3, ...options).map(({ id }) => id),
                    ids.slice(1),
                );
            },
            CALM,
        ));

    await test('points of words are those of --knockout', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                for (const count of [0, 2]) {
                    await begin(page, KEYS, '1,0,0,0,');
                    await press(page, 'Enter', count);
                    await settled(page);
                    const text = await page.inputValue('#text');
                    const points = await page.locator('#written .word i').allInnerTexts();
                    same('', points.pop()); // the last token
                    samePoints(pointsWithout(-1, [...points.keys()], text), points);
                }
                await begin(page, KEYS);
                await settled(page);
                same(
                    '“are” uses “keys” most: if “cabinet” could not attend to it, “are” would lose 99.9 points.',
                    await page.innerText('#used'),
                );
            },
            WIDE,
        ));

    await test('what a step used depends on its text, not on the time between two keys', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                const steps = async (wait) => {
                    await begin(page, KEYS);
                    for (let i = 0; i < 4; i++) {
                        await page.keyboard.press('Enter');
                        await pass(page, wait);
                    }
                    await quiet(page);
                    return page.locator('#write-steps li').allInnerTexts();
                };
                const slow = await steps(700);
                yes(slow[0].includes('← keys −100 pt'), slow[0]);
                same(slow, await steps(0));
            },
            { ...WIDE, still: true },
        ));

    await test('Space draws after a click on a button, and presses one that a key has reached', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, KEYS);
                await press(page, 'Enter', 2);
                await page.click('#undo');
                same(1, (await added(page)).length);
                await press(page, ' ');
                same(2, (await added(page)).length, 'Space after a click');
                await press(page, 'Tab');
                await press(page, 'Shift+Tab');
                same('undo', await page.evaluate(() => document.activeElement.id));
                await press(page, ' ');
                same(1, (await added(page)).length, 'Space on the button');
            },
            CALM,
        ));

    await test('an edited text keeps its selected word, if it is still there', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                const chosen = '#chips [aria-pressed="true"]';
                const type = async (text) => {
                    await page.fill('#text', text);
                    const note = `#live-note[data-text=${JSON.stringify(text)}]`;
                    await page.locator(note).waitFor({ state: 'attached' });
                };
                await type(CHICKEN);
                await page.click('.chip >> text=road');
                await page.mouse.move(0, 0);
                await type(CHICKEN.replace('The', 'The old'));
                same(['road'], await page.locator(chosen).allInnerTexts());
                await type('the dog sat on a mat');
                same(['mat'], await page.locator(chosen).allInnerTexts());
            },
            WIDE,
        ));

    await test('a key during the falling number appends its own token alone', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, KEYS);
                await press(page, ' ');
                await pass(page, 300);
                await press(page, '2');
                await quiet(page);
                same(['is'], await added(page));
                await press(page, ' ', 2); // the second key ends the fall
                same(2, (await added(page)).length);
                await press(page, ' ');
                await press(page, 'Backspace');
                await quiet(page);
                same(['is'], await added(page));
            },
            { ...WIDE, still: true },
        ));

    await test('a bar under the pointer or with the focus shows the words that it used', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, CHICKEN);
                await settled(page);
                const first = await page.innerText('#used');
                await page.hover('.next >> nth=1');
                const second = await page.innerText('#used');
                const name = await page.innerText('.next b >> nth=1');
                yes(first !== second && second.startsWith(`“${name}”`), second);
                await page.hover('h1');
                await page.focus('.next >> nth=1');
                same(second, await page.innerText('#used'));
                await page.keyboard.press('Enter'); // on a bar: that token
                same([name], await added(page));
            },
            WIDE,
        ));

    await test('top-k cuts bars, and chances share the numbers from 0 to 1', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, CHICKEN, '1.5,3,0,0,');
                same(7, await page.locator('.next.cut').count());
                const values = await page
                    .locator('.next:not(.cut) > span:last-child')
                    .allInnerTexts();
                const sum = values.reduce((all, one) => all + parseFloat(one), 0);
                yes(Math.abs(sum - 100) < 0.2, values);
                await page.fill('#write-k', '51');
                same('all', await page.innerText('#write-k-value'));
                same(0, await page.locator('.next.cut').count());
                await page.fill('#write-t', '1');
                const before = await page.locator('.next > span:last-child').allInnerTexts();
                const { best } = attnJson('score', '-q', `${CHICKEN} x`, '--top', '10').tables;
                const last = json(CHICKEN).tokens.length;
                const shares = best
                    .filter((one) => one.position === last)
                    .map(({ logprob }) => Math.exp(logprob));
                same(
                    shares.map((one) => (one < 0.0005 ? '< 0.1 %' : `${(100 * one).toFixed(1)} %`)),
                    before,
                );
                yes(
                    await page
                        .locator('.next .ghost')
                        .evaluateAll((all) => all.every((one) => one.hidden)),
                    'outlines',
                );
            },
            WIDE,
        ));

    await test('a link and a reload restore what was appended, and the other screens show it', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, CHICKEN, '1.6,6,0,0,');
                await press(page, ' ', 4);
                const before = await shows(page);
                const text = await page.inputValue('#text');
                await quiet(page);
                await page.reload();
                await started(page);
                same(before, await shows(page));
                await page.keyboard.press('m');
                const chips = await page.locator('#chips .chip').allInnerTexts();
                same(before.slice(1, chips.length + 1), chips);
                same(text, await page.inputValue('#text'));
                await page.keyboard.press('g');
                await page.keyboard.press('Backspace');
                await page.keyboard.press('m');
                same(chips.slice(0, -1), await page.locator('#chips .chip').allInnerTexts());
                await page.fill('#text', `${text} and`);
                await page
                    .locator(`#live-note[data-text=${JSON.stringify(`${text} and`)}]`)
                    .waitFor({ state: 'attached' });
                same([], await idsOf(page));
            },
            CALM,
        ));

    await test('a click on a bar of the matrix appends, and Backspace undoes', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, KEYS);
                await page.keyboard.press('m');
                const before = await page.locator('#chips .chip').allInnerTexts();
                const { hash } = new URL(page.url());
                await page.click('#bars li >> nth=1');
                same(`${KEYS} is`, await page.inputValue('#text'));
                same([...before, 'is'], await page.locator('#chips .chip').allInnerTexts());
                same(274, (await idsOf(page))[0]);
                await page.focus('#bars li >> nth=0');
                await page.keyboard.press('Enter');
                same(2, (await idsOf(page)).length);
                await press(page, 'Backspace', 2);
                same(before, await page.locator('#chips .chip').allInnerTexts());
                same(hash, new URL(page.url()).hash);
            },
            WIDE,
        ));

    await test('a click on a bar of a masked model fills the mask, and Backspace restores it', () => {
        const cloze = join(scratch, 'filled.html');
        write(cloze, '-m', 'cloze', 'The [MASK] sat on the [MASK].');
        return withPage(
            cloze,
            async (page) => {
                const settles = (text) =>
                    page
                        .locator(`#live-note[data-text=${JSON.stringify(text)}]`)
                        .waitFor({ state: 'attached' });
                await started(page);
                await settles('The [MASK] sat on the [MASK].');
                same(0, await page.locator('#screen-write').count());
                const name = await page.innerText('#bars li .name >> nth=0');
                await page.click('#bars li >> nth=0');
                await settles(`The [MASK] sat on the ${name}.`);
                const other = await page.innerText('#bars li .name >> nth=1');
                await page.click('#bars li >> nth=1');
                await settles(`The ${other} sat on the ${name}.`);
                yes(!(await page.isVisible('#right')), 'a prediction without a mask');
                await page.focus('#stage .over');
                await page.keyboard.press('Backspace');
                await settles(`The [MASK] sat on the ${name}.`);
                await page.keyboard.press('Backspace');
                await settles('The [MASK] sat on the [MASK].');
            },
            WIDE,
        );
    });

    await test('a live page translates each typed source, and Write appends to the target', () => {
        const file = join(scratch, 'translates.html');
        const source = 'the small black cat sees a white cow';
        const targetOf = (text) =>
            attnJson('generate', '-q', '-m', 'translate', '--source', text, '--beams', '1')
                .tables.tokens.map(({ text: word }) => word.trim())
                .filter((word) => word !== '</s>');
        write(file, '-m', 'translate', '--source', source);
        return withPage(
            file,
            async (page) => {
                await started(page);
                const chips = () => page.locator('#chips .chip').allInnerTexts();
                same(['<s>', ...targetOf(source)], await chips());
                same('', new URL(page.url()).hash);
                const typed = 'the white cow sees a black cat';
                await page.fill('#text', typed);
                await page
                    .locator(`#live-note[data-text=${JSON.stringify(typed)}]`)
                    .waitFor({ state: 'attached' });
                same(['<s>', ...targetOf(typed)], await chips());
                await page.locator('h1').click();
                await begin(page, source, '1,0,0,0,');
                await press(page, 'Enter', 12);
                same(targetOf(source), await added(page));
                same(
                    '“</s>” ends the text: `generate` stops here.',
                    await page.innerText('#write-note'),
                );
                await page.click('#write-steps button >> nth=0');
                await settled(page);
                const points = await page.locator('#write-source .word i').allInnerTexts();
                same(source.split(' ').length, points.length);
                yes(points.some(Boolean), points);
            },
            WIDE,
        );
    });

    await test('a full context and parts of characters are said in words', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, Array(120).fill('the').join(' '));
                await press(page, 'Enter', 10);
                same(
                    'The context of the model is full: 128 tokens.',
                    await page.innerText('#write-note'),
                );
                const count = await page.locator('#written .word').count();
                same(128, count);
                await begin(page, '我爱');
                yes(
                    (await page.innerText('#write-held')).includes(
                        'Tokens with ‿ are parts of a character.',
                    ) ===
                        (await page.locator('.next b').allInnerTexts()).some((one) =>
                            one.includes('‿'),
                        ),
                    'parts',
                );
            },
            CALM,
        ));

    await test('Write in Chinese has no English but tokens, which stay', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, KEYS);
                await page.keyboard.press('Enter');
                await page.keyboard.press('Enter');
                await settled(page);
                const texts = await page.evaluate(() => {
                    const found = [];
                    for (const one of document.querySelectorAll('#writing *')) {
                        if (one.closest('[translate="no"], code, kbd')) continue;
                        for (const part of one.childNodes)
                            if (part.nodeType === 3) found.push(part.data);
                        for (const name of ['aria-label', 'title'])
                            found.push(one.getAttribute(name) || '');
                    }
                    return found.map((text) => text.replace(/“[^”]*”/g, ''));
                });
                same(
                    [],
                    texts.filter((text) => /[a-z]{2}/i.test(text)),
                );
                same(
                    'The keys to the cabinet are lost',
                    (await page.innerText('#written'))
                        .replace(/[−+][\d.]+|\s+/g, ' ')
                        .replace(/ +/g, ' ')
                        .trim(),
                );
                same('最可能 回车', await page.innerText('#append'));
            },
            { ...WIDE, locale: 'zh-CN' },
        ));

    await test('a drawn number falls on the strip; with reduced motion it is appended at once', async () => {
        await withPage(
            path,
            async (page) => {
                await started(page);
                await begin(page, CHICKEN, '1.6,6,0,0,');
                const parts = await page
                    .locator('#chances span')
                    .evaluateAll((all) =>
                        all.map(({ style, textContent }) => [
                            textContent,
                            parseFloat(style.left),
                            parseFloat(style.width),
                        ]),
                    );
                await page.evaluate(() => {
                    window.lefts = [];
                    const mark = document.getElementById('chance-mark');
                    const note = () =>
                        mark.hidden || window.lefts.push(parseFloat(mark.style.left));
                    new MutationObserver(note).observe(mark, { attributes: true });
                });
                await page.keyboard.press(' ');
                same([], await added(page));
                await page.locator('#written .new').waitFor();
                const lefts = await page.evaluate(() => window.lefts);
                const part = parts.find(
                    ([, left, width]) => lefts.at(-1) >= left && lefts.at(-1) < left + width,
                );
                same([part[0]], await added(page), `the number ${lefts.at(-1)} of ${lefts.length}`);
                const [token] = generated(CHICKEN, 1, '--temperature', '1.6', '--top-k', '6');
                same([token.text.trim()], await added(page));
                await press(page, ' ', 2); // the second one does not wait
                same(2, (await added(page)).length);
            },
            WIDE,
        );
    });

    for (const [width, height] of [
        [1280, 720],
        [1440, 900],
        [390, 844],
    ])
        await test(`Write fits ${width} × ${height}, without violations`, () =>
            withPage(
                path,
                async (page) => {
                    await started(page);
                    await begin(page, CHICKEN, '1.6,6,0,0,');
                    await press(page, ' ', 5);
                    await settled(page);
                    const over = () =>
                        page.evaluate(
                            () => document.documentElement.scrollWidth - window.innerWidth,
                        );
                    yes((await over()) <= 0, 'it is too wide');
                    if (width === 1280) {
                        const box = await page.locator('#writing').boundingBox();
                        yes(box.y + box.height <= height, `it ends at ${box.y + box.height}`);
                    }
                    const axe = createRequire(`${process.env.MODULES}/`).resolve('axe-core');
                    if (!existsSync(axe)) return;
                    await page.evaluate(readFileSync(axe, 'utf8'));
                    const { violations } = await page.evaluate(() => window.axe.run('#writing'));
                    same(
                        [],
                        violations.map(({ id, nodes }) => `${id}: ${nodes[0].target}`),
                    );
                },
                { ...CALM, viewport: { width, height } },
            ));

    await test('random keys make no error', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await page.keyboard.press('g');
                const keys = [
                    'Enter',
                    ' ',
                    'Backspace',
                    '1',
                    '5',
                    '0',
                    'g',
                    'm',
                    't',
                    '[',
                    'd',
                    'Tab',
                    'x',
                    'b',
                    'ArrowRight',
                    'p',
                ];
                for (let i = 0, at = 7; i < 120; i++) {
                    at = (at * 1103515245 + 12345) % 2 ** 31;
                    await page.keyboard.press(keys[(at >> 8) % keys.length]);
                }
                await quiet(page);
                same('', await page.innerText('#text-error'));
            },
            CALM,
        ));
}

await test('a page without an engine goes along its own text, and says how to make a live one', () =>
    withPage(
        writePage(`${KEYS} are lost.`),
        async (page) => {
            await go(page, 'screen=write&token=4');
            same('cabinet', await page.innerText('#written [aria-pressed="true"]'));
            same(9, await page.locator('.next:disabled').count());
            yes(await page.isEnabled('#append'), 'the next word cannot be appended');
            yes(!(await page.innerText('#write-held')).includes('outline'), 'an outline at T = 1');
            await page.keyboard.press('Enter');
            same('are', await page.innerText('#written [aria-pressed="true"]'));
            await page.keyboard.press('0'); // a token that does not follow
            same('are', await page.innerText('#written [aria-pressed="true"]'));
            yes((await page.innerText('#write-empty')).includes('type this'), 'no words');
            yes(
                (await page.innerText('#write-command')).includes(
                    `page -m tiny -s '${KEYS} are lost.' --live`,
                ),
                'no command',
            );
            await page.keyboard.press('Backspace');
            same('cabinet', await page.innerText('#written [aria-pressed="true"]'));
            await page.click('#written .word >> nth=1');
            same(10, await page.locator('.next:visible').count());
            yes(page.url().includes('token=1'), page.url());
            const held = () => page.innerText('#write-held');
            await page.click('#written .word >> nth=0');
            yes(!(await held()).includes('likeliest'), 'exact at T = 1');
            await page.fill('#write-t', '0.5');
            yes(/only the \d+ likeliest tokens/.test(await held()), await held());
        },
        WIDE,
    ));

await test('keys of bars that are not there do nothing', () =>
    withPage(
        writePage(KEYS, '--top', '3'),
        async (page) => {
            await go(page, 'screen=write&token=1');
            for (const key of ['4', '0', '9']) await page.keyboard.press(key);
            same('keys', await page.innerText('#written [aria-pressed="true"]'));
            same(3, await page.locator('.next:visible').count());
        },
        WIDE,
    ));
