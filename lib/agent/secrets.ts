/** What happens to secrets between tools and a model: it reads masks, and what it writes from them is made whole again. */
export type Secrets = {
  /** Hides secrets in what a tool answers, before the model reads it and anything is recorded. */
  mask: (text: string) => string
  /**
   * A text to be written where `stored` stands: what is masked in it is put back. Throws the sentence why it cannot be.
   */
  reveal: (edited: string, stored: string) => string
  /** The sentence why a command cannot be run: it holds a mask where a secret has to stand. Null: it can. */
  commandError: (command: string) => string | null
}
