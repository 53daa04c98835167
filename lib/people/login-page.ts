/** The login page: its texts in every supported language, and the HTML document with its CSP. */
import { directionOf, languageOf } from '../base/languages.ts'
import { peopleTexts } from './people-texts.ts'
import { providerTexts, unknownText } from './provider-texts.ts'
import { documentPolicy, fillTemplate } from '../http/html-template.ts'

type LoginTexts = {
  lang: string
  /** Of every page, until its code is there. */
  loading: string
  title: string
  password: string
  enter: string
  wrong: string
  lost: string
  tooMany: string
  /** The server’s files about sign-ins cannot be read, or it is starting. */
  closed: string
  /** For the setup token: no password is set and other machines can reach the server. */
  token: string
  tokenHint: string
  tokenWrong: string
  /** The second factor. */
  code: string
  codeHint: string
  codeWrong: string
  passkey: string
  passkeyFailed: string
  /** For a device that opens a pairing link. */
  pair: string
  pairHint: string
  pairName: string
  pairGone: string
}

const TEXTS = {
  en: {
    lang: 'en',
    loading: 'Loading…',
    title: 'Sign in',
    password: 'Password',
    enter: 'Sign in',
    wrong: 'Incorrect password.',
    lost: 'Can’t reach the server.',
    tooMany: 'Too many attempts. Try again later.',
    closed: 'Sign-in is closed at the moment. The server’s log says why.',
    token: 'Setup token',
    tokenHint:
      'No password is set yet. Enter the setup token from the server log, then set a password.',
    tokenWrong: 'Incorrect token.',
    code: 'Code',
    codeHint: 'From your authenticator app, or a recovery code.',
    codeWrong: 'Incorrect code.',
    passkey: 'Use a passkey',
    passkeyFailed: 'This passkey wasn’t accepted.',
    pair: 'Pair this device',
    pairHint:
      'This device will stay signed in for 30 days. You can sign it out in Settings → Access.',
    pairName: 'Device name',
    pairGone: 'This link has expired or was already used. Make a new one in Settings → Access.',
  },
  es: {
    lang: 'es-ES',
    loading: 'Cargando…',
    title: 'Iniciar sesión',
    password: 'Contraseña',
    enter: 'Entrar',
    wrong: 'La contraseña no es correcta.',
    lost: 'No se puede contactar con el servicio.',
    tooMany: 'Demasiados intentos. Inténtalo más tarde.',
    closed:
      'El inicio de sesión está cerrado en este momento. El motivo está en el registro del servicio.',
    token: 'Código de configuración',
    tokenHint:
      'Todavía no hay contraseña. Introduce el código de configuración del registro del servicio y define después una contraseña.',
    tokenWrong: 'El código no es correcto.',
    code: 'Código',
    codeHint: 'De tu aplicación de autenticación, o un código de recuperación.',
    codeWrong: 'El código no es correcto.',
    passkey: 'Usar una llave de acceso',
    passkeyFailed: 'La llave de acceso no se ha aceptado.',
    pair: 'Vincular este dispositivo',
    pairHint:
      'La sesión de este dispositivo durará 30 días. Puedes cerrarla en los ajustes de seguridad.',
    pairName: 'Nombre del dispositivo',
    pairGone: 'El enlace ha caducado o ya se ha usado. Crea otro en los ajustes de seguridad.',
  },
  pt: {
    lang: 'pt-BR',
    loading: 'Carregando…',
    title: 'Entrar',
    password: 'Senha',
    enter: 'Entrar',
    wrong: 'Senha incorreta.',
    lost: 'Não foi possível acessar o servidor.',
    tooMany: 'Tentativas demais. Tente mais tarde.',
    closed: 'O login está fechado no momento. O motivo está no log do servidor.',
    token: 'Token de configuração',
    tokenHint:
      'Ainda não há senha. Digite o token de configuração que está no log do servidor e depois defina uma senha.',
    tokenWrong: 'Token incorreto.',
    code: 'Código',
    codeHint: 'Do seu app autenticador, ou um código de recuperação.',
    codeWrong: 'Código incorreto.',
    passkey: 'Usar uma chave de acesso',
    passkeyFailed: 'Esta chave de acesso não foi aceita.',
    pair: 'Parear este dispositivo',
    pairHint:
      'Este dispositivo ficará conectado por 30 dias. Você pode desconectá-lo em Configurações → Segurança.',
    pairName: 'Nome do dispositivo',
    pairGone: 'Este link expirou ou já foi usado. Crie outro em Configurações → Segurança.',
  },
  de: {
    lang: 'de-DE',
    loading: 'Wird geladen …',
    title: 'Anmelden',
    password: 'Passwort',
    enter: 'Anmelden',
    wrong: 'Das Passwort stimmt nicht.',
    lost: 'Der Server ist nicht erreichbar.',
    tooMany: 'Zu viele Versuche. Versuch es später noch einmal.',
    closed: 'Die Anmeldung ist zurzeit gesperrt. Den Grund nennt das Protokoll des Servers.',
    token: 'Einrichtungscode',
    tokenHint:
      'Es ist noch kein Passwort festgelegt. Gib den Einrichtungscode aus dem Protokoll des Servers ein und lege danach ein Passwort fest.',
    tokenWrong: 'Der Code stimmt nicht.',
    code: 'Code',
    codeHint: 'Aus deiner Authentifizierungs-App, oder ein Wiederherstellungscode.',
    codeWrong: 'Der Code stimmt nicht.',
    passkey: 'Passkey verwenden',
    passkeyFailed: 'Der Passkey wurde nicht akzeptiert.',
    pair: 'Dieses Gerät koppeln',
    pairHint:
      'Dieses Gerät bleibt 30 Tage angemeldet. Du kannst es unter Einstellungen → Sicherheit abmelden.',
    pairName: 'Gerätename',
    pairGone:
      'Der Link ist abgelaufen oder wurde schon verwendet. Erstelle unter Einstellungen → Sicherheit einen neuen.',
  },
  fr: {
    lang: 'fr-FR',
    loading: 'Chargement…',
    title: 'Connexion',
    password: 'Mot de passe',
    enter: 'Se connecter',
    wrong: 'Mot de passe incorrect.',
    lost: 'Le serveur est injoignable.',
    tooMany: 'Trop de tentatives. Réessayez plus tard.',
    closed: 'La connexion est fermée pour le moment. La raison figure dans le journal du serveur.',
    token: 'Code de configuration',
    tokenHint:
      'Aucun mot de passe n’est encore défini. Saisissez le code de configuration indiqué dans le journal du serveur, puis définissez un mot de passe.',
    tokenWrong: 'Code incorrect.',
    code: 'Code',
    codeHint: 'De votre application d’authentification, ou un code de récupération.',
    codeWrong: 'Code incorrect.',
    passkey: 'Utiliser une clé d’accès',
    passkeyFailed: 'Cette clé d’accès n’a pas été acceptée.',
    pair: 'Associer cet appareil',
    pairHint:
      'Cet appareil restera connecté 30 jours. Vous pourrez le déconnecter dans Paramètres → Sécurité.',
    pairName: 'Nom de l’appareil',
    pairGone:
      'Ce lien a expiré ou a déjà été utilisé. Créez-en un autre dans Paramètres → Sécurité.',
  },
  ru: {
    lang: 'ru-RU',
    loading: 'Загрузка…',
    title: 'Вход',
    password: 'Пароль',
    enter: 'Войти',
    wrong: 'Неверный пароль.',
    lost: 'Сервис недоступен.',
    tooMany: 'Слишком много попыток. Попробуйте позже.',
    closed: 'Вход сейчас закрыт. Причина указана в журнале сервиса.',
    token: 'Код настройки',
    tokenHint:
      'Пароль ещё не задан. Введите код настройки из журнала сервиса, затем задайте пароль.',
    tokenWrong: 'Неверный код.',
    code: 'Код',
    codeHint: 'Из приложения-аутентификатора или код восстановления.',
    codeWrong: 'Неверный код.',
    passkey: 'Войти с ключом доступа',
    passkeyFailed: 'Ключ доступа не принят.',
    pair: 'Привязать это устройство',
    pairHint:
      'Вход на этом устройстве сохранится 30 дней. Завершить его можно в настройках безопасности.',
    pairName: 'Имя устройства',
    pairGone:
      'Срок действия ссылки истёк, или она уже использована. Создайте новую в настройках безопасности.',
  },
  ja: {
    lang: 'ja-JP',
    loading: '読み込み中…',
    title: 'サインイン',
    password: 'パスワード',
    enter: 'サインイン',
    wrong: 'パスワードが違います。',
    lost: 'サーバーに接続できません。',
    tooMany: '試行回数が多すぎます。しばらくしてからお試しください。',
    closed: '現在サインインを停止しています。理由はサーバーのログをご覧ください。',
    token: 'セットアップトークン',
    tokenHint:
      'パスワードはまだ設定されていません。サーバーのログにあるセットアップトークンを入力してから、パスワードを設定してください。',
    tokenWrong: 'トークンが違います。',
    code: 'コード',
    codeHint: '認証アプリのコード、またはリカバリーコード。',
    codeWrong: 'コードが違います。',
    passkey: 'パスキーを使う',
    passkeyFailed: 'このパスキーは受け付けられませんでした。',
    pair: 'このデバイスをペアリング',
    pairHint:
      'このデバイスは30日間サインインしたままになります。設定の「セキュリティ」でサインアウトできます。',
    pairName: 'デバイス名',
    pairGone:
      'このリンクは期限切れか、使用済みです。設定の「セキュリティ」で新しいリンクを作成してください。',
  },
  ko: {
    lang: 'ko-KR',
    loading: '불러오는 중…',
    title: '로그인',
    password: '비밀번호',
    enter: '로그인',
    wrong: '비밀번호가 올바르지 않아요.',
    lost: '서버에 연결할 수 없어요.',
    tooMany: '시도가 너무 많아요. 나중에 다시 시도하세요.',
    closed: '지금은 로그인이 막혀 있어요. 이유는 서버 로그에 있어요.',
    token: '설정 토큰',
    tokenHint:
      '아직 비밀번호가 설정되지 않았어요. 서버 로그에 있는 설정 토큰을 입력한 다음 비밀번호를 설정하세요.',
    tokenWrong: '토큰이 올바르지 않아요.',
    code: '코드',
    codeHint: '인증 앱의 코드 또는 복구 코드를 입력하세요.',
    codeWrong: '코드가 올바르지 않아요.',
    passkey: '패스키 사용',
    passkeyFailed: '이 패스키를 인증하지 못했어요.',
    pair: '이 기기 연결',
    pairHint: '이 기기는 30일 동안 로그인 상태로 유지돼요. 설정 → 보안에서 로그아웃할 수 있어요.',
    pairName: '기기 이름',
    pairGone: '링크가 만료되었거나 이미 사용되었어요. 설정 → 보안에서 새 링크를 만드세요.',
  },
  zh: {
    lang: 'zh-CN',
    loading: '正在加载…',
    title: '登录',
    password: '密码',
    enter: '登录',
    wrong: '密码不正确。',
    lost: '无法连接到服务。',
    tooMany: '尝试次数过多。请稍后再试。',
    closed: '目前无法登录。原因请见服务日志。',
    token: '设置码',
    tokenHint: '尚未设置密码。请输入服务日志中的设置码，然后设置密码。',
    tokenWrong: '设置码不正确。',
    code: '验证码',
    codeHint: '来自身份验证器应用，或使用恢复码。',
    codeWrong: '验证码不正确。',
    passkey: '使用通行密钥',
    passkeyFailed: '通行密钥未被接受。',
    pair: '配对此设备',
    pairHint: '此设备将保持登录 30 天。可在安全设置中将其退出登录。',
    pairName: '设备名称',
    pairGone: '链接已过期或已被使用。请在安全设置中重新创建。',
  },
  'zh-hant': {
    lang: 'zh-TW',
    loading: '正在載入…',
    title: '登入',
    password: '密碼',
    enter: '登入',
    wrong: '密碼不正確。',
    lost: '無法連線到服務。',
    tooMany: '嘗試次數過多。請稍後再試。',
    closed: '目前無法登入。原因請見服務記錄。',
    token: '設定碼',
    tokenHint: '尚未設定密碼。請輸入服務記錄中的設定碼，然後設定密碼。',
    tokenWrong: '設定碼不正確。',
    code: '驗證碼',
    codeHint: '來自驗證器應用程式，或使用復原碼。',
    codeWrong: '驗證碼不正確。',
    passkey: '使用通行密鑰',
    passkeyFailed: '通行密鑰未被接受。',
    pair: '配對此裝置',
    pairHint: '此裝置將保持登入 30 天。可在安全性設定中將其登出。',
    pairName: '裝置名稱',
    pairGone: '連結已過期或已被使用。請在安全性設定中重新建立。',
  },
  ar: {
    lang: 'ar',
    loading: 'جارٍ التحميل…',
    title: 'تسجيل الدخول',
    password: 'كلمة المرور',
    enter: 'تسجيل الدخول',
    wrong: 'كلمة المرور غير صحيحة.',
    lost: 'تعذّر الوصول إلى الخادم.',
    tooMany: 'محاولات كثيرة جدًا. يمكن المحاولة لاحقًا.',
    closed: 'تسجيل الدخول مغلق حاليًا. السبب مذكور في سجل الخادم.',
    token: 'رمز الإعداد',
    tokenHint: 'لم تُعيَّن كلمة مرور بعد. يلزم إدخال رمز الإعداد من سجل الخادم، ثم تعيين كلمة مرور.',
    tokenWrong: 'الرمز غير صحيح.',
    code: 'الرمز',
    codeHint: 'من تطبيق المصادقة، أو رمز استرداد.',
    codeWrong: 'الرمز غير صحيح.',
    passkey: 'استخدام مفتاح مرور',
    passkeyFailed: 'لم يُقبل مفتاح المرور هذا.',
    pair: 'إقران هذا الجهاز',
    pairHint:
      'يبقى هذا الجهاز مسجّل الدخول لمدة 30 يومًا. يمكن تسجيل خروجه في الإعدادات ضمن «الأمان».',
    pairName: 'اسم الجهاز',
    pairGone:
      'انتهت صلاحية هذا الرابط أو استُخدم من قبل. يمكن إنشاء رابط جديد في الإعدادات ضمن «الأمان».',
  },
} satisfies Record<string, LoginTexts>

const isKnown = (tag: string): tag is keyof typeof TEXTS => Object.hasOwn(TEXTS, tag)

/** The texts for a language tag such as `zh_TW`, `de-AT` or `EN`; English when it is not supported. */
export const textsFor = (language: string): LoginTexts => {
  const tag = language.trim().toLowerCase().replaceAll('_', '-')
  if (/^zh-(tw|hk|mo|hant)\b/.test(tag)) return TEXTS['zh-hant']
  const base = tag.split('-', 1)[0] ?? ''
  return isKnown(tag) ? TEXTS[tag] : isKnown(base) ? TEXTS[base] : TEXTS.en
}

export type LoginPage = { document: string; policy: string }

/** `base` is the path prefix, with a trailing slash. */
export const loginPage = (
  template: string,
  {
    base,
    botName,
    language,
    theme,
    usesSetupToken,
    hasPasskeys,
    canHavePasskeys,
    asksName,
    provider,
    isUnknown,
  }: {
    base: string
    botName: string
    language: string
    theme: string
    usesSetupToken: boolean
    /** There are passkeys for the host name of this page. */
    hasPasskeys: boolean
    /** The address of this page has a host name that passkeys can belong to. */
    canHavePasskeys: boolean
    /** Several people can sign in. */
    asksName: boolean
    /** Name of the provider that people can sign in with. */
    provider: string | null
    /** The proxy names a user who is no person here. */
    isUnknown: boolean
  },
): LoginPage => {
  const texts = textsFor(language)
  const { token, tokenHint, tokenWrong } = texts
  const document = fillTemplate(template, {
    ...texts,
    ...peopleTexts(texts.lang, asksName && !usesSetupToken),
    dir: directionOf(languageOf(texts.lang) ?? 'en'),
    ...(usesSetupToken ? { password: token, wrong: tokenWrong, hint: tokenHint } : { hint: '' }),
    // A sign-in with the token is for setting a password.
    after: usesSetupToken ? 'settings/security' : '',
    field: usesSetupToken ? 'text' : 'password',
    ...providerTexts(texts.lang, provider),
    problem: isUnknown ? unknownText(texts.lang) : '',
    passkeys: hasPasskeys ? 'yes' : '',
    passkeysHere: canHavePasskeys ? 'yes' : '',
    // The browser offers passkeys in the menu of the field.
    remember: usesSetupToken
      ? 'off'
      : hasPasskeys
        ? 'current-password webauthn'
        : 'current-password',
    base,
    theme,
    bot_name: botName,
  })
  return { document, policy: documentPolicy(template, { images: "'self' data:", forms: "'self'" }) }
}
