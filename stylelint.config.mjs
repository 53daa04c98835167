/** Style sheets: sides of the text instead of the screen, and sizes, corners, and colors of the tokens. */

/** A part of a selector without a class, an id, or an attribute. */
const UNNAMED = '(?:[a-z*][\\w-]*|:[\\w-]+(?:\\([^().#\\[]*\\))?)+'

export default {
  rules: {
    // Right-to-left comes free.
    'property-disallowed-list': [
      '/^(?:top|right|bottom|left)$/',
      '/-(?:top|right|bottom|left)(?:-|$)/',
    ],
    'declaration-property-max-values': { '/^(?:margin|padding|inset)$/': 3 },
    'declaration-property-value-disallowed-list': {
      '/^(?:text-align|float|clear)$/': ['left', 'right'],
      transform: ['/translate(?:X|3d)?\\((?!0|-?50%|calc\\(var\\(--inline\\))/'],
      font: ['/\\d(?:px|rem|em|pt)\\b/'],
    },
    'declaration-property-value-allowed-list': {
      'font-size': [
        '/^var\\(--size(?:-\\w+)?\\)$/',
        '/^1(?:\\.\\d+)?em$/',
        '/^max\\([\\d.]+em, var\\(--size-tiny\\)\\)$/',
        'inherit',
      ],
      '/^(?!--).*radius$/': [
        '/^(?:(?:0|inherit|var\\(--radius[^()]*\\)|calc\\(var\\(--radius[^()]*\\)[^()]*\\))(?: |$))+$/',
      ],
    },
    'color-no-hex': true,
    'function-disallowed-list': ['/^(?:rgb|hsl|hwb|lab|lch|oklab|oklch)a?$/'],
    // For each new element, a browser computes the styles of a whole container again that such a selector may concern.
    'selector-disallowed-list': [
      '/[+~]\\s*\\*/',
      `/(?:^|[\\s>,+~])${UNNAMED}\\s*[+~]\\s*${UNNAMED}(?=$|[\\s>,+~])/`,
    ],
  },
  overrides: [
    {
      files: ['public/style/themes/*.css', 'public/style/tokens.css'],
      rules: { 'color-no-hex': null, 'function-disallowed-list': null },
    },
  ],
}
