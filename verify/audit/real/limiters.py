"""
Limiters of Debian's Python packages, each before an empty server:
`python3 limiters.py NAME PORT LIMIT WINDOW_MS`.
"""

import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

name, port, limit, window_ms = sys.argv[1], *map(int, sys.argv[2:])
seconds = window_ms // 1000


def flask(strategy):
    from flask import Flask
    from flask_limiter import Limiter
    from flask_limiter.util import get_remote_address

    app = Flask(__name__)
    Limiter(
        get_remote_address,
        app=app,
        default_limits=[f"{limit} per {seconds} second"],
        strategy=strategy,
        storage_uri="memory://",
        headers_enabled=True,
    )
    # One endpoint: the limit is one for each of them.
    app.add_url_rule("/", view_func=lambda: "ok", endpoint="root")
    app.add_url_rule("/other", endpoint="root")
    return app


def django():
    from django.conf import settings

    settings.configure(
        SECRET_KEY="x",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=["rest_framework"],
        REST_FRAMEWORK={
            "DEFAULT_THROTTLE_RATES": {"anon": f"{limit}/{seconds}"},
            "DEFAULT_AUTHENTICATION_CLASSES": [],
            "DEFAULT_PERMISSION_CLASSES": [],
            "UNAUTHENTICATED_USER": None,
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        },
    )
    import django as framework

    framework.setup()
    from django.core.wsgi import get_wsgi_application
    from django.urls import re_path
    from rest_framework.response import Response
    from rest_framework.throttling import AnonRateThrottle
    from rest_framework.views import APIView

    class Throttle(AnonRateThrottle):
        # The framework reads seconds, minutes, hours and days alone.
        def parse_rate(self, rate):
            return tuple(map(int, rate.split("/")))

    class Root(APIView):
        throttle_classes = [Throttle]

        def get(self, request):
            return Response("ok")

    global urlpatterns
    urlpatterns = [re_path("", Root.as_view())]
    return get_wsgi_application()


apps = {
    "flask-fixed": lambda: flask("fixed-window"),
    "flask-moving": lambda: flask("moving-window"),
    "django": django,
}


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


make_server("127.0.0.1", port, apps[name](), Server, Quiet).serve_forever()
