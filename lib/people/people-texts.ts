/** Texts of the login page about people with names and about invitations, by the same languages as the others. */

type PeopleTexts = {
  person: string
  wrongName: string
  join: string
  joinHint: string
  /** Where a passkey or the provider is offered beside the password. */
  joinAny: string
  joinPasskey: string
  joinKnown: string
  joinGone: string
  newPassword: string
  shortPassword: string
}

const ENGLISH: PeopleTexts = {
  person: 'Name',
  wrongName: 'Incorrect name or password.',
  join: 'Join',
  joinHint: 'You were invited. Choose a password to sign in with.',
  joinAny: 'You were invited. Choose how you want to sign in.',
  joinPasskey: 'Join with a passkey',
  joinKnown: 'This device already has a passkey of yours. Open the sign-in page and use it.',
  joinGone: 'This invitation has expired or was already used. Ask for a new one.',
  newPassword: 'New password',
  shortPassword: 'Use at least 8 characters.',
}

/** By the `lang` of the login page. */
const PEOPLE_TEXTS: Readonly<Record<string, PeopleTexts>> = {
  'es-ES': {
    person: 'Nombre',
    wrongName: 'El nombre o la contraseña no son correctos.',
    join: 'Unirse',
    joinHint: 'Te han invitado. Elige una contraseña para iniciar sesión.',
    joinAny: 'Te han invitado. Elige cómo quieres iniciar sesión.',
    joinPasskey: 'Unirse con una llave de acceso',
    joinKnown:
      'Este dispositivo ya tiene una llave de acceso tuya. Abre la página de inicio de sesión y úsala.',
    joinGone: 'Esta invitación ha caducado o ya se ha usado. Pide otra.',
    newPassword: 'Contraseña nueva',
    shortPassword: 'Usa al menos 8 caracteres.',
  },
  'pt-BR': {
    person: 'Nome',
    wrongName: 'Nome ou senha incorretos.',
    join: 'Entrar',
    joinHint: 'Você recebeu um convite. Escolha uma senha para entrar.',
    joinAny: 'Você recebeu um convite. Escolha como quer entrar.',
    joinPasskey: 'Entrar com uma chave de acesso',
    joinKnown: 'Este dispositivo já tem uma chave de acesso sua. Abra a página de login e use-a.',
    joinGone: 'Este convite expirou ou já foi usado. Peça outro.',
    newPassword: 'Nova senha',
    shortPassword: 'Use pelo menos 8 caracteres.',
  },
  'de-DE': {
    person: 'Name',
    wrongName: 'Name oder Passwort stimmt nicht.',
    join: 'Beitreten',
    joinHint: 'Du wurdest eingeladen. Wähle ein Passwort, mit dem du dich anmeldest.',
    joinAny: 'Du wurdest eingeladen. Wähle, wie du dich anmelden möchtest.',
    joinPasskey: 'Mit Passkey beitreten',
    joinKnown:
      'Auf diesem Gerät gibt es schon einen Passkey von dir. Öffne die Anmeldeseite und verwende ihn.',
    joinGone: 'Diese Einladung ist abgelaufen oder wurde schon verwendet. Bitte um eine neue.',
    newPassword: 'Neues Passwort',
    shortPassword: 'Mindestens 8 Zeichen.',
  },
  'fr-FR': {
    person: 'Nom',
    wrongName: 'Nom ou mot de passe incorrect.',
    join: 'Rejoindre',
    joinHint: 'Vous avez reçu une invitation. Choisissez un mot de passe pour vous connecter.',
    joinAny: 'Vous avez reçu une invitation. Choisissez comment vous connecter.',
    joinPasskey: 'Rejoindre avec une clé d’accès',
    joinKnown:
      'Cet appareil possède déjà une de vos clés d’accès. Ouvrez la page de connexion et utilisez-la.',
    joinGone: 'Cette invitation a expiré ou a déjà été utilisée. Demandez-en une autre.',
    newPassword: 'Nouveau mot de passe',
    shortPassword: 'Utilisez au moins 8 caractères.',
  },
  'ru-RU': {
    person: 'Имя',
    wrongName: 'Неверное имя или пароль.',
    join: 'Присоединиться',
    joinHint: 'Вас пригласили. Придумайте пароль для входа.',
    joinAny: 'Вас пригласили. Выберите способ входа.',
    joinPasskey: 'Присоединиться с ключом доступа',
    joinKnown:
      'На этом устройстве уже есть ваш ключ доступа. Откройте страницу входа и используйте его.',
    joinGone: 'Срок приглашения истёк, или оно уже использовано. Попросите новое.',
    newPassword: 'Новый пароль',
    shortPassword: 'Не меньше 8 символов.',
  },
  'ja-JP': {
    person: '名前',
    wrongName: '名前またはパスワードが違います。',
    join: '参加',
    joinHint: '招待されています。サインインに使うパスワードを決めてください。',
    joinAny: '招待されています。サインインの方法を選んでください。',
    joinPasskey: 'パスキーで参加',
    joinKnown:
      'このデバイスにはあなたのパスキーがすでにあります。サインインページを開いて使ってください。',
    joinGone: 'この招待は期限切れか、使用済みです。新しい招待を依頼してください。',
    newPassword: '新しいパスワード',
    shortPassword: '8文字以上にしてください。',
  },
  'ko-KR': {
    person: '이름',
    wrongName: '이름 또는 비밀번호가 올바르지 않아요.',
    join: '참여',
    joinHint: '초대를 받았어요. 로그인에 쓸 비밀번호를 정하세요.',
    joinAny: '초대를 받았어요. 로그인 방법을 선택하세요.',
    joinPasskey: '패스키로 참여',
    joinKnown: '이 기기에 이미 내 패스키가 있어요. 로그인 페이지를 열어 사용하세요.',
    joinGone: '초대가 만료되었거나 이미 사용되었어요. 새 초대를 요청하세요.',
    newPassword: '새 비밀번호',
    shortPassword: '8자 이상이어야 해요.',
  },
  'zh-CN': {
    person: '姓名',
    wrongName: '姓名或密码不正确。',
    join: '加入',
    joinHint: '你收到了邀请。请设置登录密码。',
    joinAny: '你收到了邀请。请选择登录方式。',
    joinPasskey: '使用通行密钥加入',
    joinKnown: '此设备上已有你的通行密钥。请打开登录页面并使用它。',
    joinGone: '此邀请已过期或已被使用。请索取新的邀请。',
    newPassword: '新密码',
    shortPassword: '至少 8 个字符。',
  },
  'zh-TW': {
    person: '姓名',
    wrongName: '姓名或密碼不正確。',
    join: '加入',
    joinHint: '你收到了邀請。請設定登入密碼。',
    joinAny: '你收到了邀請。請選擇登入方式。',
    joinPasskey: '使用通行密鑰加入',
    joinKnown: '此裝置上已有你的通行密鑰。請開啟登入頁面並使用它。',
    joinGone: '此邀請已過期或已被使用。請索取新的邀請。',
    newPassword: '新密碼',
    shortPassword: '至少 8 個字元。',
  },
  ar: {
    person: 'الاسم',
    wrongName: 'الاسم أو كلمة المرور غير صحيحة.',
    join: 'انضمام',
    joinHint: 'لديك دعوة. يلزم اختيار كلمة مرور لتسجيل الدخول بها.',
    joinAny: 'لديك دعوة. يلزم اختيار طريقة تسجيل الدخول.',
    joinPasskey: 'انضمام بمفتاح مرور',
    joinKnown: 'يوجد على هذا الجهاز مفتاح مرور لك بالفعل. يمكن فتح صفحة تسجيل الدخول واستخدامه.',
    joinGone: 'انتهت صلاحية هذه الدعوة أو استُخدمت من قبل. يمكن طلب دعوة جديدة.',
    newPassword: 'كلمة مرور جديدة',
    shortPassword: '8 أحرف على الأقل.',
  },
}

/** `asksName`: several people can sign in. */
export const peopleTexts = (lang: string, asksName: boolean) => {
  const texts = PEOPLE_TEXTS[lang] ?? ENGLISH
  return { ...texts, asksName: asksName ? 'yes' : '', ...(asksName && { wrong: texts.wrongName }) }
}
