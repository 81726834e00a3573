//! Every way that a page has to speak to a server, each aimed at forbidden servers and, to show that it works, at an
//! allowed one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kilter_web::acquire::{Client, Settings};
use kilter_web::address::AddressPolicy;
use kilter_web::browser::BrowserLimits;
use tokio::net::UdpSocket;

use super::{browser, quick};
use crate::acquire::settings;
use crate::site::{Asked, Names, Say, Site, answer, page, to};
use crate::space;

/// Scripts and markup with `T` for the target's origin and `H` for its host and port. The name of the channel is in the path.
const CHANNELS: &[(&str, &str)] = &[
    ("img", "new Image().src=T+'/img'"),
    ("fetch", "fetch(T+'/fetch',{mode:'no-cors'})"),
    (
        "post",
        "fetch(T+'/post',{mode:'no-cors',method:'POST',body:'x'})",
    ),
    (
        "xhr",
        "var x=new XMLHttpRequest();x.open('GET',T+'/xhr');x.send()",
    ),
    ("websocket", "new WebSocket('ws://'+H+'/websocket')"),
    ("eventsource", "new EventSource(T+'/eventsource')"),
    ("beacon", "navigator.sendBeacon(T+'/beacon','x')"),
    (
        "prefetch",
        "add('link',{rel:'prefetch',href:T+'/prefetch'})",
    ),
    (
        "preload",
        "add('link',{rel:'preload',as:'image',href:T+'/preload'})",
    ),
    ("preconnect", "add('link',{rel:'preconnect',href:T+'/'})"),
    (
        "dns-prefetch",
        "add('link',{rel:'dns-prefetch',href:T+'/'})",
    ),
    (
        "modulepreload",
        "add('link',{rel:'modulepreload',href:T+'/modulepreload'})",
    ),
    (
        "stylesheet",
        "add('link',{rel:'stylesheet',href:T+'/stylesheet'})",
    ),
    ("icon", "add('link',{rel:'icon',href:T+'/icon'})"),
    (
        "manifest",
        "add('link',{rel:'manifest',href:T+'/manifest'})",
    ),
    ("iframe", "add('iframe',{src:T+'/iframe'})"),
    (
        "srcdoc",
        "add('iframe',{srcdoc:'<img src=\"'+T+'/srcdoc\">'})",
    ),
    (
        "frame-refresh",
        "add('iframe',{srcdoc:'<meta http-equiv=refresh content=\"0;url='+T+'/frame-refresh\">'})",
    ),
    ("frame-script", "add('iframe',{src:'/framed?'+T})"),
    ("object", "add('object',{data:T+'/object'})"),
    ("embed", "add('embed',{src:T+'/embed'})"),
    ("video", "add('video',{src:T+'/video',preload:'auto'})"),
    ("audio", "add('audio',{src:T+'/audio',preload:'auto'})"),
    ("script", "add('script',{src:T+'/script'})"),
    ("import", "import(T+'/import').catch(()=>0)"),
    (
        "css-import",
        "add('style',{textContent:'@import url('+T+'/css-import)'})",
    ),
    (
        "css-image",
        "document.body.style.background='url('+T+'/css-image)'",
    ),
    (
        "font",
        "new FontFace('f','url('+T+'/font)').load().catch(()=>0)",
    ),
    (
        "svg-image",
        "document.body.insertAdjacentHTML('beforeend','<svg><image href=\"'+T+'/svg-image\"/></svg>')",
    ),
    ("worker", "new Worker('/worker.js?'+T)"),
    ("worker-socket", "new Worker('/worker-socket.js?'+H)"),
    (
        "blob-worker",
        "new Worker(URL.createObjectURL(new Blob(['fetch(\"'+T+'/blob-worker\",{mode:\"no-cors\"})'])))",
    ),
    ("shared-worker", "new SharedWorker('/shared.js?'+T)"),
    (
        "service-worker",
        "navigator.serviceWorker.register('/service.js?'+T,{scope:'/scope/'+encodeURIComponent(H)}).catch(()=>0)",
    ),
    ("popup", "open(T+'/popup')"),
    (
        "popup-blank",
        "var w=open('about:blank');if(w)w.location=T+'/popup-blank'",
    ),
    (
        "form-blank",
        "var f=add('form',{action:T+'/form-blank',target:'_blank'});f.submit()",
    ),
    (
        "form-frame",
        "add('iframe',{name:'n'+H});var g=add('form',{action:T+'/form-frame',target:'n'+H,method:'post'});g.submit()",
    ),
    (
        "ping",
        "var a=add('a',{href:'#x',ping:T+'/ping'});a.click()",
    ),
    ("redirect-img", "new Image().src='/away?'+T+'/redirect-img'"),
    (
        "redirect-fetch",
        "fetch('/away?'+T+'/redirect-fetch',{mode:'no-cors'})",
    ),
    (
        "redirect-frame",
        "add('iframe',{src:'/away?'+T+'/redirect-frame'})",
    ),
    (
        "keepalive",
        "fetch(T+'/keepalive',{mode:'no-cors',keepalive:true})",
    ),
    (
        "speculation",
        "add('script',{type:'speculationrules',textContent:JSON.stringify({prefetch:[{urls:[T+'/speculation']}]})})",
    ),
    (
        "prerender",
        "add('script',{type:'speculationrules',textContent:JSON.stringify({prerender:[{urls:[T+'/prerender']}]})})",
    ),
    (
        "webtransport",
        "new WebTransport('https://'+H+'/webtransport').ready.catch(()=>0)",
    ),
    ("stun", "rtc([{urls:'stun:'+H}])"),
    (
        "turn",
        "rtc([{urls:'turn:'+H,username:'u',credential:'c'}])",
    ),
    (
        "turn-tcp",
        "rtc([{urls:'turn:'+H+'?transport=tcp',username:'u',credential:'c'}])",
    ),
];

/// Hosts of forbidden servers, as a page writes them.
const FORBIDDEN: &[&str] = &[
    "127.0.0.1:80",
    "10.0.0.5:80",
    "169.254.169.254:80",
    "[::1]:80",
    "inside.example:80",
    "mixed.example:80",
    "0x7f.1:80",
    "localhost:80",
];

/// Channels that must be seen to work against the allowed server; for others a browser may need a gesture or a real peer.
const PROVEN: &[&str] = &[
    "img",
    "fetch",
    "post",
    "xhr",
    "websocket",
    "eventsource",
    "beacon",
    "prefetch",
    "preload",
    "stylesheet",
    "iframe",
    "srcdoc",
    "frame-refresh",
    "frame-script",
    "object",
    "embed",
    "video",
    "script",
    "import",
    "css-import",
    "css-image",
    "font",
    "worker",
    "worker-socket",
    "blob-worker",
    "shared-worker",
    "service-worker",
    "popup",
    "popup-blank",
    "form-blank",
    "form-frame",
    "redirect-img",
    "redirect-fetch",
    "redirect-frame",
    "keepalive",
];

fn aim(host: &str) -> String {
    let tries: String = CHANNELS
        .iter()
        .map(|(_, code)| {
            format!("try{{(function(T,H){{{code}}})('http://{host}','{host}')}}catch(e){{}}\n")
        })
        .collect();
    page_with(&tries)
}

fn page_with(script: &str) -> String {
    format!(
        "<!doctype html><body><p>a page that tries</p><script>
        function add(n,p){{const e=Object.assign(document.createElement(n),p);for(const k of ['ping','as'])if(p[k])e.setAttribute(k,p[k]);
          (n=='link'||n=='style'?document.head:document.body).append(e);return e}}
        function rtc(s){{const c=new RTCPeerConnection({{iceServers:s}});c.createDataChannel('d');c.createOffer().then(o=>c.setLocalDescription(o))}}
        {script}</script>"
    )
}

fn public(asked: &Asked) -> Say {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let script = |s: String| answer("200 OK", "Content-Type: text/javascript\r\n", s);
    match path {
        "/aim" => page(&aim(query)),
        "/away" => to(query),
        "/framed" => page(&format!("<script>location='{query}/frame-script'</script>")),
        "/worker.js" => script(format!("fetch('{query}/worker',{{mode:'no-cors'}})")),
        "/worker-socket.js" => script(format!("new WebSocket('ws://{query}/worker-socket')")),
        "/shared.js" => script(format!("fetch('{query}/shared-worker',{{mode:'no-cors'}})")),
        "/service.js" => script(format!(
            "self.oninstall=e=>e.waitUntil(fetch('{query}/service-worker',{{mode:'no-cors'}}))"
        )),
        _ => answer(
            "200 OK",
            "Content-Type: text/plain\r\nAccess-Control-Allow-Origin: *\r\n",
            "x",
        ),
    }
}

/// A UDP socket that counts what it gets.
async fn datagrams(address: &str) -> Arc<AtomicUsize> {
    let socket = UdpSocket::bind(address)
        .await
        .unwrap_or_else(|e| panic!("{address}: {e}"));
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    tokio::spawn(async move {
        let mut part = [0; 2048];
        while socket.recv_from(&mut part).await.is_ok() {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    count
}

#[test]
fn no_channel_of_a_page_reaches_a_forbidden_server() {
    space::within(
        "browser::channels::no_channel_of_a_page_reaches_a_forbidden_server",
        async {
            let mut forbidden = Vec::new();
            let mut packets = Vec::new();
            for address in [
                "127.0.0.1:80",
                "10.0.0.5:80",
                "169.254.169.254:80",
                "[::1]:80",
            ] {
                forbidden.push(Site::at(address, None, |_| page("secret")).await);
                packets.push(datagrams(address).await);
            }
            let _site = Site::at("93.184.216.34:80", None, public).await;
            let allowed = Site::at("93.184.216.35:80", None, public).await;
            packets.push(datagrams("93.184.216.35:80").await);
            let client = Client::new(Settings {
                resolver: Names::of(&[
                    ("inside.example", &[&["10.0.0.5"]]),
                    ("mixed.example", &[&["93.184.216.34", "10.0.0.5"]]),
                ]),
                ..settings(AddressPolicy::public())
            })
            .expect("a client");
            let limits = BrowserLimits {
                settle: Duration::from_secs(10),
                quiet: Duration::from_millis(1500),
                ..quick()
            };
            let Some(browser) = browser(
                "no_channel_of_a_page_reaches_a_forbidden_server",
                client,
                limits,
            ) else {
                return;
            };
            // Workers and the newer channels exist in secure contexts only.
            let browser = browser.with_flags([
                "--unsafely-treat-insecure-origin-as-secure=http://93.184.216.34".to_owned(),
                // No person is there to click.
                "--disable-popup-blocking".to_owned(),
            ]);
            let got = browser
                .read("http://93.184.216.34/aim?93.184.216.35:80")
                .await
                .expect("the page");
            assert!(got.html.contains("a page that tries"), "{}", got.html);
            let reached = allowed.paths();
            let missing: Vec<_> = PROVEN
                .iter()
                .filter(|c| {
                    !reached
                        .iter()
                        .any(|p| p.trim_start_matches('/').split('?').next() == Some(c))
                })
                .collect();
            assert!(
                missing.is_empty(),
                "channels that the test does not exercise: {missing:?}; reached {reached:?}"
            );
            eprintln!(
                "reached the allowed server: {} of {} channels",
                CHANNELS
                    .iter()
                    .filter(|(c, _)| reached.iter().any(|p| p.trim_start_matches('/') == *c))
                    .count(),
                CHANNELS.len()
            );
            for host in FORBIDDEN {
                let got = browser
                    .read(&format!("http://93.184.216.34/aim?{host}"))
                    .await;
                let got = got.unwrap_or_else(|e| panic!("{host}: {e}"));
                assert!(got.html.contains("a page that tries"));
                assert!(
                    got.refused.iter().any(|r| r.code == "private_url_blocked"),
                    "{host}: {:?}",
                    got.refused
                );
            }
            // What a browser does late, it does within this time.
            tokio::time::sleep(Duration::from_secs(2)).await;
            for site in &forbidden {
                assert_eq!(
                    site.touched(),
                    0,
                    "{} was reached: {:?}",
                    site.addr,
                    site.paths()
                );
            }
            let sent: usize = packets.iter().map(|p| p.load(Ordering::SeqCst)).sum();
            assert_eq!(sent, 0, "datagrams left the browser past its proxy");
            eprintln!(
                "{} cases: {} channels to {} forbidden hosts",
                CHANNELS.len() * FORBIDDEN.len(),
                CHANNELS.len(),
                FORBIDDEN.len()
            );
        },
    );
}
