/** Longer texts of the scripted demo model. */

export const HELP = `I am the **Demo model**: a short script that runs inside this service, works offline, and is *not* a language model. I cannot answer questions; I match a few sentences and use the real tools, so that you can see how everything here works.

Try one of these:

| Say | and I |
| --- | --- |
| \`list files\` | look at the workspace |
| \`read notes.md\` | show a file |
| \`find "some text"\` | search the files |
| \`create hello.txt with Hello!\` | write a file |
| \`replace "Hello" with "Bye" in hello.txt\` | change a file and show the difference |
| \`run "ls -la"\` | run a command; a dangerous one asks you first |
| \`ask me something\` | ask a question and wait for your answer |
| \`think aloud\` | show reasoning before an answer |
| \`make a plan\` | keep a list of steps |
| \`show Markdown\` | show a table, a task list, code, math and a diagram |
| \`long answer\` or \`count to 200\` | stream for a while, so that you can stop it |

**To connect a real model**, put a key such as \`OPENROUTER_API_KEY=…\` into the file \`.env\` of the agent home, or set \`model.provider\`, \`model.base_url\` and \`model.default\` in its \`config.yaml\` (a local server such as Ollama or llama.cpp works without a key). Then choose the model in the composer.`

export const MARKDOWN = `Here is a little of everything.

## Text

A paragraph with **bold**, *italic*, \`code\`, ~~struck~~ words and a [link](https://www.rfc-editor.org/rfc/rfc2324).

> A quotation, with
>
> > one inside it.

## Lists

1. First
2. Second
   - nested
   - twice

- [x] A task that is done
- [ ] A task that is not

## Table

| Planet | Moons | Day |
| :--- | ---: | :---: |
| Mars | 2 | 24 h 37 min |
| Jupiter | 95 | 9 h 56 min |
| Saturn | 146 | 10 h 42 min |

## Code

\`\`\`ts
/** Greatest common divisor. */
const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

const twelve = gcd(84, 36)
\`\`\`

\`\`\`diff
- the old line
+ the new line
\`\`\`

## Math

Inline $e^{i\\pi} + 1 = 0$, and on its own line:

$$
\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx = \\sqrt{\\pi}
$$

## Diagram

\`\`\`mermaid
flowchart LR
  You --> Browser --> Service --> Model
  Service --> Tools --> Workspace
\`\`\`

That was a sample written in advance: I am a script, not a language model.`

const PARAGRAPHS = [
  'This is a long answer, written in advance, so that you can watch how text arrives, scroll while it grows, and press Stop in the middle of it. Nothing in it was thought up for you: the Demo model is a script.',
  'A service like this one keeps two things apart. The transcript holds what is finished, message by message, and is never rewritten. The running turn holds what is still being said. Each piece is on the disk before it is sent to your browser, so a lost connection costs nothing: the browser comes back, says how far it had read, and gets the rest.',
  'You can try that now. Close this tab while the text is growing, open it again, and the answer will be here, complete up to this moment, still growing. Or open the same session in a second window and watch both. Closing a window only ends a reader. The one thing that ends a turn early is the Stop button, and what had been said until then stays in the transcript.',
  'Scrolling should not fight you either. As long as you are at the end, the view follows the text. Once you scroll up to read something again, it stays where you are, and a small button brings you back to the end when you want it.',
  'A real model would now go on to tell you something worth reading. It would look into the files of your workspace, run commands, and ask before it did anything dangerous. The tools are the same ones that this script uses when you say "list files" or "run a command", and so are the questions you are asked.',
  'To connect one, put a key into the .env file of the agent home or name a model in its config.yaml. Until then this script will be here, offline and patient, with the same few sentences.',
]

/** A few hundred words, or numbers up to `count`. */
export const longText = (count: number | null): string =>
  count === null
    ? PARAGRAPHS.join('\n\n')
    : `${Array.from({ length: Math.min(Math.max(count, 1), 2_000) }, (_, at) => at + 1).join(', ')}.\n\nThat was counting by script.`

export const THOUGHTS =
  'The request is to think aloud. There is nothing to work out, because every word of this was written in advance. Still, this is the place where a real model would weigh what you asked, look at what it knows, and choose its next step. It is shown apart from the answer, and folded away when the answer begins.'

export const AFTER_THOUGHT =
  'The block above is what reasoning looks like: it streams before the answer and can be unfolded later. Mine was written in advance; I am a script, not a language model.'
